// How often users are looked up, and who they are when nobody answers.
#include "daemon/users.hpp"

#include <atomic>
#include <future>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

namespace tangram::daemon {
namespace {

using namespace std::chrono_literals;

class Users : public ::testing::Test {
 protected:
  // As it is once it was looked up.
  Account account(KnownUsers::Time now) {
    while (!users_.is_settled(7, now)) std::this_thread::yield();
    return users_.find(7, now);
  }
  std::string name(KnownUsers::Time now) { return account(now).name; }

  std::atomic<int> asked_ = 0;
  Result<std::optional<Account>> answer_ = std::nullopt;
  KnownUsers users_{[this](std::uint32_t) {
    ++asked_;
    return answer_;
  }};
  KnownUsers::Time now_ = std::chrono::steady_clock::now();
};

TEST_F(Users, WhoIsKnownIsAskedForOnce) {
  answer_ = Account{.name = "ada", .home = {}, .shell = {}, .gid = 5};
  EXPECT_EQ(name(now_), "ada");
  EXPECT_EQ(name(now_ + 1000h), "ada");
  EXPECT_EQ(asked_, 1);
  answer_ = Account{.name = "ada", .home = {}, .shell = {}, .gid = 6};
  users_.doubt();
  EXPECT_EQ(account(now_).gid, 6U);
  EXPECT_EQ(name(now_), "ada");
  EXPECT_EQ(asked_, 2);
}

TEST_F(Users, NoAnswerIsRememberedForAWhile) {
  const auto none = answer_;
  for (const auto& answer : {none, Result<std::optional<Account>>(failed("it does not answer"))}) {
    users_.doubt();
    asked_ = 0;
    answer_ = answer;
    EXPECT_EQ(name(now_), "7");
    EXPECT_EQ(name(now_ + 29s), "7");
    EXPECT_EQ(asked_, 1);
    EXPECT_EQ(name(now_ + 30s), "7");
    EXPECT_EQ(asked_, 2);
  }
  answer_ = Account{.name = "ada", .home = {}, .shell = {}, .gid = 5};
  EXPECT_EQ(name(now_ + 60s), "ada");
}

TEST_F(Users, WhoWasKnownStaysSoWhileNobodyAnswers) {
  answer_ = Account{.name = "ada", .home = {}, .shell = {}, .gid = 5};
  EXPECT_EQ(name(now_), "ada");
  answer_ = failed("it does not answer");
  users_.doubt();
  EXPECT_EQ(name(now_), "ada");
  EXPECT_EQ(asked_, 2);
  EXPECT_EQ(name(now_ + 1s), "ada");
  EXPECT_EQ(asked_, 2);
  answer_ = std::nullopt;
  EXPECT_EQ(name(now_ + 30s), "7");
}

// A directory that hangs: nobody waits for it longer than a moment, and nobody gets a group from
// it.
TEST(Newcomers, AreNumbersUntilTheyAreKnown) {
  std::promise<void> go_on;
  KnownUsers users(
      [gone_on = go_on.get_future().share()](std::uint32_t uid) -> Result<std::optional<Account>> {
        if (uid == 7) gone_on.wait();
        return Account{.name = "ada", .home = {}, .shell = {}, .gid = 5};
      });
  const KnownUsers::Time now = std::chrono::steady_clock::now();
  EXPECT_FALSE(users.is_settled(7, now));
  EXPECT_EQ(users.find(7, now).name, "7");
  EXPECT_EQ(users.find(7, now).gid, 0xFFFF'FFFFU);
  EXPECT_FALSE(users.is_settled(7, now + 1s));
  EXPECT_TRUE(users.is_settled(7, now + KnownUsers::kPatience));  // no longer than that
  EXPECT_EQ(users.find(7, now + KnownUsers::kPatience).name, "7");
  users.doubt();  // meanwhile
  go_on.set_value();
  while (!users.is_settled(7, now)) std::this_thread::yield();
  EXPECT_EQ(users.find(7, now).name, "ada");
  EXPECT_EQ(users.find(7, now).gid, 5U);
}

TEST(TheSystemsUsers, AreFound) {
  for (const std::uint32_t uid : {0U, 4'000'000'001U}) {
    while (!is_user_settled(uid)) std::this_thread::yield();
  }
  EXPECT_EQ(look_up_group(0).value(), 0U);
  EXPECT_FALSE(look_up_group(4'000'000'001).has_value());
  EXPECT_EQ(user_name(0), "root");
  EXPECT_EQ(group_of(0), 0U);
  EXPECT_EQ(user_name(4'000'000'001), "4000000001");
  EXPECT_EQ(group_of(4'000'000'001), 0xFFFF'FFFFU);
}

}  // namespace
}  // namespace tangram::daemon
