// How often users are looked up, and who they are when nobody answers.
#include "daemon/users.hpp"

#include <unistd.h>

#include <gtest/gtest.h>

namespace tangram::daemon {
namespace {

using namespace std::chrono_literals;

class Users : public ::testing::Test {
 protected:
  std::string name(KnownUsers::Time now) { return users_.find(7, now).name; }

  int asked_ = 0;
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
  EXPECT_EQ(users_.find(7, now_).gid, 6U);
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

TEST(TheSystemsUsers, AreFound) {
  EXPECT_EQ(user_name(0), "root");
  EXPECT_EQ(group_of(0), 0U);
  EXPECT_EQ(user_name(4'000'000'001), "4000000001");
  EXPECT_EQ(group_of(4'000'000'001), 0xFFFF'FFFFU);
}

}  // namespace
}  // namespace tangram::daemon
