// The daemon over TCP: another certificate is taken over at a reload, and strangers leave no more
// in the audit log than their number.
#include <algorithm>
#include <fstream>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/text.hpp"
#include "http/client.hpp"
#include "http/test_keys.hpp"
#include "node.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;
using http::testing::TestKeys;

std::uint16_t free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  CHECK(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  CHECK(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  ::close(fd);
  return ntohs(address.sin_port);
}

class Tcp : public ::testing::Test {
 protected:
  [[nodiscard]] std::string config(const std::string& certificate, const std::string& key) const {
    return cat("[tcp]\nlisten = \"127.0.0.1:", port_, "\"\ncertificate = \"", certificate,
               "\"\nkey = \"", key, "\"\n");
  }
  [[nodiscard]] Result<http::Client> connect(std::string token = "") const {
    return http::Client::open(cat("https://localhost:", port_),
                              {.token = std::move(token), .ca_file = keys_.ca()});
  }

  std::uint16_t port_ = free_port();
  TestKeys keys_;
  Node node_{{.config = config(keys_.certificate(), keys_.key())}};
};

TEST_F(Tcp, AnotherCertificateIsTakenOverAtAReload) {
  node_.start();
  ASSERT_TRUE(connect());
  const std::string certificate = keys_.folder() / "next.pem";
  const std::string key = keys_.folder() / "next.key";
  node_.folder().write("tangram.toml", config(certificate, key));
  node_.reload();  // before it is there
  eventually("it is said", [&] {
    return node_.log().find("the certificate was not read again") != std::string::npos;
  });
  EXPECT_TRUE(connect());
  keys_.authority().issue(certificate, key, "DNS:elsewhere");
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
