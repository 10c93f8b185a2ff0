// Who is an admin, and what a token's scope takes away.
#include "daemon/access.hpp"

#include <atomic>
#include <future>
#include <grp.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/users.hpp"

namespace tangram::daemon {
namespace {

using ::testing::HasSubstr;

constexpr std::uint32_t kSomebody = 4'000'000'001;  // nobody's number
constexpr std::chrono::minutes kLong{1};
constexpr std::uint32_t kAnother = 4'000'000'002;

http::Caller caller(std::uint32_t uid, api::Scope scope = api::Scope::kAdmin,
                    std::uint32_t gid = 4'000'000'000) {
  http::Caller who;
  who.uid = uid;
  who.gid = gid;
  who.scope = scope;
  return who;
}

TEST(Access, AdminsAreRootTheDaemonAndOneGroup) {
  const group* some = getgrgid(0);
  ASSERT_NE(some, nullptr);
  const Access access(some->gr_name);
  EXPECT_TRUE(access.is_admin(caller(0)));
  EXPECT_TRUE(access.is_admin(caller(geteuid())));
  EXPECT_FALSE(access.is_admin(caller(kSomebody)));
  EXPECT_TRUE(access.is_admin(caller(kSomebody, api::Scope::kAdmin, 0)));
  EXPECT_FALSE(Access("").is_admin(caller(kSomebody, api::Scope::kAdmin, 0)));
  EXPECT_FALSE(Access("no-such-group").is_admin(caller(kSomebody, api::Scope::kAdmin, 0)));
}

TEST(Access, AnotherGroupIsTakenOver) {
  Access access("");
  const http::Caller member = caller(kSomebody, api::Scope::kAdmin, 0);
  EXPECT_FALSE(access.is_admin(member));
  access.set_group(getgrgid(0)->gr_name);
  ASSERT_TRUE(access.settle(kLong));
  EXPECT_TRUE(access.is_admin(member));
  access.set_group("");
  ASSERT_TRUE(access.settle(kLong));
  EXPECT_FALSE(access.is_admin(member));
}

// Whoever asks meanwhile is answered at once, as nobody's admin if the group is another one.
TEST(Access, NobodyWaitsForADirectoryThatHangs) {
  std::promise<void> go_on;
  std::atomic<int> asked = 0;
  Access access("",
                [&, gone_on = go_on.get_future().share()](
                    const std::string&) -> Result<std::optional<Access::Group>> {
                  if (++asked == 2) gone_on.wait();
                  return Access::Group{.gid = 7, .members = {kSomebody}};
                });
  access.set_group("a");
  ASSERT_TRUE(access.settle(kLong));
  access.reload();  // hangs
  EXPECT_TRUE(access.is_admin(caller(kSomebody)));
  access.reload();
  access.reload();
  EXPECT_FALSE(access.settle(std::chrono::milliseconds(1)));
  EXPECT_LE(asked, 2);  // one that hangs is enough
  EXPECT_TRUE(access.is_admin(caller(kSomebody)));
  go_on.set_value();
  ASSERT_TRUE(access.settle(kLong));
  EXPECT_EQ(asked, 3);
  std::promise<void> never;
  Access other("",
               [gone_on = never.get_future().share()](
                   const std::string&) -> Result<std::optional<Access::Group>> {
                 gone_on.wait();
                 return Access::Group{.gid = 7, .members = {kSomebody}};
               });
  other.set_group("b");
  EXPECT_FALSE(other.is_admin(caller(kSomebody)));
  EXPECT_FALSE(other.is_admin(caller(kAnother, api::Scope::kAdmin, 7)));
  never.set_value();
  ASSERT_TRUE(other.settle(kLong));
  EXPECT_TRUE(other.is_admin(caller(kSomebody)));
}

TEST(Access, AdminsStayWhenTheyCannotBeLookedUp) {
  Result<std::optional<Access::Group>> answer = Access::Group{.gid = 7, .members = {kSomebody}};
  Access access("a", [&](const std::string&) { return answer; });
  EXPECT_TRUE(access.is_admin(caller(kSomebody)));
  answer = failed("the directory does not answer");
  access.set_group("a");
  ASSERT_TRUE(access.settle(kLong));
  EXPECT_TRUE(access.is_admin(caller(kSomebody)));
  answer = Access::Group{.gid = 7, .members = {kAnother}};
  access.set_group("a");
  ASSERT_TRUE(access.settle(kLong));
  EXPECT_FALSE(access.is_admin(caller(kSomebody)));
  EXPECT_TRUE(access.is_admin(caller(kAnother)));
  answer = std::nullopt;
  access.set_group("a");
  ASSERT_TRUE(access.settle(kLong));
  EXPECT_FALSE(access.is_admin(caller(kAnother)));
}

// Who was an admin by the old name is none by the new one, whether it can be looked up or not.
TEST(Access, AnotherGroupThatCannotBeLookedUpHasNoMembers) {
  Result<std::optional<Access::Group>> answer = Access::Group{.gid = 7, .members = {kSomebody}};
  Access access("a", [&](const std::string&) { return answer; });
  answer = failed("the directory does not answer");
  access.set_group("b");
  ASSERT_TRUE(access.settle(kLong));
  EXPECT_FALSE(access.is_admin(caller(kSomebody)));
  answer = Access::Group{.gid = 8, .members = {kAnother}};
  access.reload();
  ASSERT_TRUE(access.settle(kLong));
  EXPECT_TRUE(access.is_admin(caller(kAnother)));
}

// Without anybody's help, as long as the last answer was none.
TEST(Access, AGroupThatCouldNotBeLookedUpIsTriedAgain) {
  std::atomic<int> asked = 0;
  Result<std::optional<Access::Group>> answer = failed("the directory does not answer");
  Access access("a", [&](const std::string&) {
    ++asked;
    return answer;
  });
  EXPECT_FALSE(access.is_admin(caller(kSomebody)));
  access.try_again();
  ASSERT_TRUE(access.settle(kLong));
  EXPECT_EQ(asked, 2);
  EXPECT_FALSE(access.is_admin(caller(kSomebody)));
  answer = Access::Group{.gid = 7, .members = {kSomebody}};
  access.try_again();
  ASSERT_TRUE(access.settle(kLong));
  EXPECT_TRUE(access.is_admin(caller(kSomebody)));
  answer = failed("the directory does not answer");
  access.try_again();  // there is nothing to be tried again
  ASSERT_TRUE(access.settle(kLong));
  EXPECT_EQ(asked, 3);
  access.reload();
  ASSERT_TRUE(access.settle(kLong));
  access.set_group("");
  access.try_again();
  EXPECT_EQ(asked, 4);
}

// Whoever makes a token for somebody is that one: what the group's members may not be.
TEST(Access, OnlyMastersBecomeSomebodyElse) {
  const Access access(
      "a", [](const std::string&) { return Access::Group{.gid = 7, .members = {kSomebody}}; });
  EXPECT_TRUE(access.is_admin(caller(kSomebody)));
  EXPECT_FALSE(Access::is_master(caller(kSomebody)));
  EXPECT_TRUE(Access::is_master(caller(0)));
  EXPECT_TRUE(Access::is_master(caller(geteuid())));
  EXPECT_FALSE(Access::is_master(caller(0, api::Scope::kWrite)));
  EXPECT_TRUE(access.require_master(caller(0), "create tokens for others"));
  if (geteuid() != 0) GTEST_SKIP() << "only root serves others";
  const auto refused = access.require_master(caller(kSomebody), "create tokens for others");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, 403);
  EXPECT_THAT(refused.error().detail, HasSubstr("only root may create tokens for others"));
}

TEST(Access, AScopeTakesRightsAway) {
  const Access access("");
  EXPECT_FALSE(access.is_admin(caller(0, api::Scope::kWrite)));
  EXPECT_FALSE(access.may_control(caller(0, api::Scope::kWrite), kSomebody));
  EXPECT_TRUE(access.may_control(caller(kSomebody, api::Scope::kWrite), kSomebody));
  EXPECT_FALSE(access.may_control(caller(kSomebody, api::Scope::kRead), kSomebody));
  EXPECT_TRUE(access.may_read(caller(kSomebody, api::Scope::kRead), kSomebody));
  EXPECT_FALSE(access.may_read(caller(kAnother), kSomebody));
  EXPECT_FALSE(access.admit_change(caller(geteuid(), api::Scope::kRead)));
  EXPECT_TRUE(access.admit(caller(geteuid(), api::Scope::kRead)));
}

TEST(Access, RefusalsSayWhoMay) {
  if (geteuid() != 0) GTEST_SKIP() << "only root serves others";
  const Access access("root");
  const auto admin = access.require_admin(caller(kSomebody), "cordon GPUs");
  ASSERT_FALSE(admin);
  EXPECT_EQ(admin.error().status, 403);
  EXPECT_THAT(admin.error().detail, HasSubstr("members of the group root may cordon GPUs"));
  const auto scoped = access.require_admin(caller(0, api::Scope::kWrite), "cordon GPUs");
  ASSERT_FALSE(scoped);
  EXPECT_THAT(scoped.error().detail, HasSubstr("scope write"));
  const auto control = access.require_control(caller(kAnother), kSomebody, "job 7", "cancel");
  ASSERT_FALSE(control);
  EXPECT_THAT(control.error().detail, HasSubstr("only its owner and admins may cancel it"));
}

TEST(Access, SubmissionsMayBeTheAdmins) {
  if (geteuid() != 0) GTEST_SKIP() << "only root serves others";
  Access access("");
  EXPECT_TRUE(access.admit_submission(caller(kSomebody)));
  access.set_submitters(true);
  EXPECT_TRUE(access.admit_submission(caller(0)));
  EXPECT_FALSE(access.admit_submission(caller(0, api::Scope::kWrite)));
  const auto refused = access.admit_submission(caller(kSomebody));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, 403);
  EXPECT_THAT(refused.error().detail, HasSubstr("only root may submit jobs or take leases"));
  access.set_submitters(false);
  EXPECT_TRUE(access.admit_submission(caller(kSomebody)));
}

TEST(Access, WhatWasTakenForAnotherIsItsTakers) {
  if (geteuid() != 0) GTEST_SKIP() << "only root serves others";
  const Access access("");
  const auto may = [&](const http::Caller& who, std::uint32_t taker) {
    return access.require_taker(who, taker, kSomebody, "lease 7", "release");
  };
  EXPECT_TRUE(may(caller(kSomebody), kSomebody));
  EXPECT_TRUE(may(caller(kAnother), kAnother));
  EXPECT_TRUE(may(caller(0), kAnother));
  EXPECT_FALSE(may(caller(kAnother), kSomebody));
  EXPECT_FALSE(may(caller(kAnother, api::Scope::kRead), kAnother));
  while (!is_user_settled(0)) std::this_thread::yield();
  const auto owner = may(caller(kSomebody), 0);
  ASSERT_FALSE(owner);
  EXPECT_EQ(owner.error().status, 403);
  EXPECT_THAT(owner.error().detail, HasSubstr("lease 7 was taken by root for"));
}

}  // namespace
}  // namespace tangram::daemon
