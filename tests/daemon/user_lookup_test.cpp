// User lookups while the user database hangs (slow_users.cpp), and requests that name other users:
// which uids are looked up, which requests wait for a lookup, and that a token is not called
// invalid only because a lookup has not finished.
#include <filesystem>
#include <fstream>
#include <set>
#include <unistd.h>

#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "http/client/client.hpp"
#include "node.hpp"
#include "other_user.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

class UserLookup : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root to act as other users";
    node_.use_environment({"TANGRAM_EMULATOR_LATENCY=0", "LD_PRELOAD=" TANGRAM_SLOW_USERS,
                           "ASAN_OPTIONS=verify_asan_link_order=0",
                           "TANGRAM_SLOW_USERS=" + node_.at("users")});
    allow_other_users(node_);
    node_.start();
  }
  void TearDown() override { resume(); }

  void hang() const { std::ofstream(node_.at("users.hang")); }
  void resume() const { std::filesystem::remove(node_.at("users.hang")); }
  [[nodiscard]] std::multiset<std::uint32_t> looked_up() const {
    std::ifstream in(node_.at("users.lookups"));
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

// As after a restart while the user database is not available.
TEST_F(UserLookup, HangingDoesNotInvalidateTokens) {
  const json::object request{{"uid", kNobody}};
  const std::string secret(node_.call("POST", "/v1/tokens", 201, request).at("secret").as_string());
  EXPECT_EQ(status(secret), 200);
  node_.stop();
  hang();
  node_.start();
  eventually("the lookup has timed out", [&] {
    const int now = status(secret);
    EXPECT_EQ(now, 503);
    return now == 503;
  });
  // Nor is a token created for a user whose lookup has not finished.
  const json::value refused = node_.call("POST", "/v1/tokens", 503, request);
  EXPECT_THAT(json::serialize(refused), HasSubstr("user database does not respond"));
  resume();
  eventually("the user is known", [&] {
    const int now = status(secret);
    EXPECT_TRUE(now == 200 || now == 503) << now;
    return now == 200;
  });
  EXPECT_EQ(node_.call("POST", "/v1/tokens", 201, request).at("user"), "nobody");
}

// Otherwise a client could make the daemon look up any uid and evict cached users.
TEST_F(UserLookup, IsNotDoneForUidsThatAClientMayNotName) {
  constexpr std::uint32_t kFirst = 70'000;
  const auto as_nobody = [&](const std::string& method, const std::string& target, int status,
                             const std::optional<json::value>& body = std::nullopt) {
    const auto [answered, answer] = call_as(kNobody, node_, method, target, body);
    EXPECT_EQ(answered, status) << method << " " << target << ": " << answer;
  };
  as_nobody("POST", "/v1/tokens", 403, json::object{{"uid", kFirst}});
  as_nobody("POST", "/v1/leases", 403, json::object{{"profile", "1g.5gb"}, {"uid", kFirst + 1}});
  as_nobody("GET", cat("/v1/leases?key=k&uid=", kFirst + 2), 404);
  as_nobody("DELETE", cat("/v1/leases?key=k&uid=", kFirst + 3), 403);
  node_.call("POST", "/v1/tokens", 201, json::object{{"uid", kFirst + 4}});
  const auto uids = looked_up();
  EXPECT_EQ(uids.count(kNobody), 1U);
  EXPECT_EQ(uids.count(kFirst + 4), 1U);
  for (std::uint32_t uid = kFirst; uid < kFirst + 4; ++uid) EXPECT_FALSE(uids.contains(uid));
}

}  // namespace
}  // namespace tangram::tests
