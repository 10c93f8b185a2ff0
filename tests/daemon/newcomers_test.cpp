// The daemon and a user database that hangs (slow_users.cpp), and callers who name others: who is
// looked up, who waits for it, and that nobody's token is called wrong only because nobody answers.
#include <filesystem>
#include <fstream>
#include <set>
#include <unistd.h>

#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "http/client.hpp"
#include "node.hpp"
#include "others.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

class Newcomers : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root serves others";
    node_.use_environment({"TANGRAM_EMULATOR_LATENCY=0", "LD_PRELOAD=" TANGRAM_SLOW_USERS,
                           "ASAN_OPTIONS=verify_asan_link_order=0",
                           "TANGRAM_SLOW_USERS=" + node_.at("users")});
    let_others_in(node_);
    node_.start();
  }
  void TearDown() override { go_on(); }

  void hang() const { std::ofstream(node_.at("users.hang")); }
  void go_on() const { std::filesystem::remove(node_.at("users.hang")); }
  [[nodiscard]] std::multiset<std::uint32_t> asked() const {
    std::ifstream in(node_.at("users.asked"));
    std::multiset<std::uint32_t> uids;
    for (std::uint32_t uid = 0; in >> uid;) uids.insert(uid);
    return uids;
  }
  [[nodiscard]] int status(const std::string& secret) const {
    auto client = http::Client::open(node_.socket(), {.token = secret});
    const auto reply = client->exchange("GET", "/v1/jobs");
    return reply ? reply->status : 0;
  }

  Node node_;
};

// As after a restart while the directory is away.
TEST_F(Newcomers, WithATokenAreNotRefusedForADirectoryThatHangs) {
  const json::object wish{{"uid", kNobody}};
  const std::string secret(node_.ask("POST", "/v1/tokens", 201, wish).at("secret").as_string());
  EXPECT_EQ(status(secret), 200);
  node_.stop();
  hang();
  node_.start();
  eventually("it has taken too long", [&] {
    const int now = status(secret);
    EXPECT_EQ(now, 503);
    return now == 503;
  });
  // Nor is one made that nobody could use once it is known whose it is.
  const json::value refused = node_.ask("POST", "/v1/tokens", 503, wish);
  EXPECT_THAT(json::serialize(refused), HasSubstr("user database does not answer"));
  go_on();
  eventually("he is known", [&] {
    const int now = status(secret);
    EXPECT_TRUE(now == 200 || now == 503) << now;
    return now == 200;
  });
  EXPECT_EQ(node_.ask("POST", "/v1/tokens", 201, wish).at("user"), "nobody");
}

// Or anybody could have the daemon look up everybody, and forget those who matter.
TEST_F(Newcomers, WhomACallerMayNotNameAreNotLookedUp) {
  constexpr std::uint32_t kFirst = 70'000;
  const auto as_nobody = [&](const std::string& method, const std::string& target, int status,
                             const std::optional<json::value>& body = std::nullopt) {
    const auto [answered, answer] = ask_as(kNobody, node_, method, target, body);
    EXPECT_EQ(answered, status) << method << " " << target << ": " << answer;
  };
  as_nobody("POST", "/v1/tokens", 403, json::object{{"uid", kFirst}});
  as_nobody("POST", "/v1/leases", 403, json::object{{"profile", "1g.5gb"}, {"uid", kFirst + 1}});
  as_nobody("GET", cat("/v1/leases?key=k&uid=", kFirst + 2), 404);
  as_nobody("DELETE", cat("/v1/leases?key=k&uid=", kFirst + 3), 403);
  node_.ask("POST", "/v1/tokens", 201, json::object{{"uid", kFirst + 4}});
  const auto asked_for = asked();
  EXPECT_EQ(asked_for.count(kNobody), 1U);
  EXPECT_EQ(asked_for.count(kFirst + 4), 1U);
  for (std::uint32_t uid = kFirst; uid < kFirst + 4; ++uid) EXPECT_FALSE(asked_for.contains(uid));
}

}  // namespace
}  // namespace tangram::tests
