// The daemon over TCP: a reload replaces the certificate, and the audit log counts unauthenticated
// requests instead of recording each.
#include <algorithm>
#include <fstream>

#include <gtest/gtest.h>

#include "base/text.hpp"
#include "http/client/client.hpp"
#include "node.hpp"
#include "tcp_node.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;

class Tcp : public ::testing::Test {
 protected:
  [[nodiscard]] Result<http::Client> connect(std::string token = "") const {
    return http::Client::open(tcp_.url(), {.token = std::move(token), .ca_file = tcp_.ca()});
  }

  TcpNode tcp_;
  Node& node_ = tcp_.node();
};

TEST_F(Tcp, AReloadReplacesTheCertificate) {
  node_.start();
  ASSERT_TRUE(connect());
  const std::string certificate = tcp_.keys().folder() / "next.pem";
  const std::string key = tcp_.keys().folder() / "next.key";
  node_.folder().write("tangram.toml", tcp_.config(certificate, key));
  node_.reload();  // the files do not exist yet
  eventually("the error is logged",
             [&] { return node_.log().find("certificate not reloaded") != std::string::npos; });
  EXPECT_TRUE(connect());
  tcp_.keys().authority().issue(certificate, key, "DNS:elsewhere");
  node_.reload();
  eventually("the new certificate is used", [&] { return !connect(); });
  EXPECT_NE(connect().error().message.find("mismatch"), std::string::npos);
}

TEST_F(Tcp, UnauthenticatedRequestsAreCountedInTheAuditLog) {
  node_.start();
  auto client = connect("tangram_1_wrong");
  ASSERT_TRUE(client);
  for (int i = 0; i < 50; ++i) {
    const auto reply = client->exchange("POST", "/v1/jobs", json::object{});
    ASSERT_TRUE(reply) << reply.error().message;
    EXPECT_EQ(reply->status, 401);
  }
  node_.call("POST", "/v1/jobs/7/cancel", 404);
  node_.stop();
  std::ifstream in(node_.state_dir() + "/audit.log");
  const std::string lines((std::istreambuf_iterator<char>(in)), {});
  EXPECT_EQ(std::ranges::count(lines, '\n'), 3) << lines;
  EXPECT_NE(lines.find("\"address\":\"127.0.0.1\",\"refused\":1}"), std::string::npos) << lines;
  EXPECT_NE(lines.find("\"target\":\"/v1/jobs/7/cancel\",\"status\":404}"), std::string::npos);
  EXPECT_NE(lines.find("\"refused\":49}"), std::string::npos) << lines;
}

}  // namespace
}  // namespace tangram::tests
