// The daemon over TCP: another certificate is taken over at a reload, and strangers leave no more
// in the audit log than their number.
#include <algorithm>
#include <fstream>

#include <gtest/gtest.h>

#include "base/text.hpp"
#include "http/client.hpp"
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

TEST_F(Tcp, AnotherCertificateIsTakenOverAtAReload) {
  node_.start();
  ASSERT_TRUE(connect());
  const std::string certificate = tcp_.keys().folder() / "next.pem";
  const std::string key = tcp_.keys().folder() / "next.key";
  node_.folder().write("tangram.toml", tcp_.config(certificate, key));
  node_.reload();  // before it is there
  eventually("it is said", [&] {
    return node_.log().find("the certificate was not read again") != std::string::npos;
  });
  EXPECT_TRUE(connect());
  tcp_.keys().authority().issue(certificate, key, "DNS:elsewhere");
  node_.reload();
  eventually("it is taken over", [&] { return !connect(); });
  EXPECT_NE(connect().error().message.find("mismatch"), std::string::npos);
}

TEST_F(Tcp, StrangersAreCountedInTheAuditLog) {
  node_.start();
  auto stranger = connect("tangram_1_wrong");
  ASSERT_TRUE(stranger);
  for (int i = 0; i < 50; ++i) {
    const auto reply = stranger->exchange("POST", "/v1/jobs", json::object{});
    ASSERT_TRUE(reply) << reply.error().message;
    EXPECT_EQ(reply->status, 401);
  }
  node_.ask("POST", "/v1/jobs/7/cancel", 404);
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
