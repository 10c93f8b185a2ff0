// Admins, and what the scope of a token restricts.
#include "daemon/access/access.hpp"

#include <atomic>
#include <future>
#include <grp.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/access/user_cache.hpp"
#include "tests/support/base/await.hpp"

namespace tangram::daemon {
namespace {

using ::testing::HasSubstr;

constexpr std::uint32_t kUser = 4'000'000'001;  // not in the user database
constexpr std::chrono::minutes kTimeout{1};
constexpr std::uint32_t kOtherUser = 4'000'000'002;

http::Caller caller(std::uint32_t uid, api::Scope scope = api::Scope::kAdmin,
                    std::uint32_t gid = 4'000'000'000) {
  http::Caller made;
  made.uid = uid;
  made.gid = gid;
  made.scope = scope;
  return made;
}

TEST(Access, AdminsAreRootTheDaemonAndOneGroup) {
  const group* some = getgrgid(0);
  ASSERT_NE(some, nullptr);
  const Access access(some->gr_name);
  EXPECT_TRUE(access.is_admin(caller(0)));
  EXPECT_TRUE(access.is_admin(caller(geteuid())));
  EXPECT_FALSE(access.is_admin(caller(kUser)));
  EXPECT_TRUE(access.is_admin(caller(kUser, api::Scope::kAdmin, 0)));
  EXPECT_FALSE(Access("").is_admin(caller(kUser, api::Scope::kAdmin, 0)));
  EXPECT_FALSE(Access("no-such-group").is_admin(caller(kUser, api::Scope::kAdmin, 0)));
}

TEST(Access, TheGroupCanBeChanged) {
  Access access("");
  const http::Caller member = caller(kUser, api::Scope::kAdmin, 0);
  EXPECT_FALSE(access.is_admin(member));
  access.set_group(getgrgid(0)->gr_name);
  ASSERT_TRUE(access.wait_for_lookup(kTimeout));
  EXPECT_TRUE(access.is_admin(member));
  access.set_group("");
  ASSERT_TRUE(access.wait_for_lookup(kTimeout));
  EXPECT_FALSE(access.is_admin(member));
}

// Admin checks meanwhile use the known members; a new group has none yet.
TEST(Access, AHangingLookupBlocksNothing) {
  std::promise<void> go_on;
  std::atomic<int> lookups = 0;
  Access access("",
                [&, gone_on = go_on.get_future().share()](
                    const std::string&) -> Result<std::optional<Access::Group>> {
                  if (++lookups == 2) gone_on.wait();
                  return Access::Group{.gid = 7, .members = {kUser}};
                });
  access.set_group("a");
  ASSERT_TRUE(access.wait_for_lookup(kTimeout));
  access.reload();  // hangs
  EXPECT_TRUE(access.is_admin(caller(kUser)));
  access.reload();
  access.reload();
  EXPECT_FALSE(access.wait_for_lookup(std::chrono::milliseconds(1)));
  EXPECT_LE(lookups, 2);  // at most one may hang
  EXPECT_TRUE(access.is_admin(caller(kUser)));
  go_on.set_value();
  ASSERT_TRUE(access.wait_for_lookup(kTimeout));
  EXPECT_EQ(lookups, 3);
  std::promise<void> never;
  Access other("",
               [gone_on = never.get_future().share()](
                   const std::string&) -> Result<std::optional<Access::Group>> {
                 gone_on.wait();
                 return Access::Group{.gid = 7, .members = {kUser}};
               });
  other.set_group("b");
  EXPECT_FALSE(other.is_admin(caller(kUser)));
  EXPECT_FALSE(other.is_admin(caller(kOtherUser, api::Scope::kAdmin, 7)));
  never.set_value();
  ASSERT_TRUE(other.wait_for_lookup(kTimeout));
  EXPECT_TRUE(other.is_admin(caller(kUser)));
}

TEST(Access, AdminsStayWhenTheyCannotBeLookedUp) {
  Result<std::optional<Access::Group>> result = Access::Group{.gid = 7, .members = {kUser}};
  Access access("a", [&](const std::string&) { return result; });
  EXPECT_TRUE(access.is_admin(caller(kUser)));
  result = failed("the directory does not result");
  access.set_group("a");
  ASSERT_TRUE(access.wait_for_lookup(kTimeout));
  EXPECT_TRUE(access.is_admin(caller(kUser)));
  result = Access::Group{.gid = 7, .members = {kOtherUser}};
  access.set_group("a");
  ASSERT_TRUE(access.wait_for_lookup(kTimeout));
  EXPECT_FALSE(access.is_admin(caller(kUser)));
  EXPECT_TRUE(access.is_admin(caller(kOtherUser)));
  result = std::nullopt;
  access.set_group("a");
  ASSERT_TRUE(access.wait_for_lookup(kTimeout));
  EXPECT_FALSE(access.is_admin(caller(kOtherUser)));
}

// Members of the previous group are no admins any more, even if the new one cannot be looked up.
TEST(Access, AnotherGroupThatCannotBeLookedUpHasNoMembers) {
  Result<std::optional<Access::Group>> result = Access::Group{.gid = 7, .members = {kUser}};
  Access access("a", [&](const std::string&) { return result; });
  result = failed("the directory does not result");
  access.set_group("b");
  ASSERT_TRUE(access.wait_for_lookup(kTimeout));
  EXPECT_FALSE(access.is_admin(caller(kUser)));
  result = Access::Group{.gid = 8, .members = {kOtherUser}};
  access.reload();
  ASSERT_TRUE(access.wait_for_lookup(kTimeout));
  EXPECT_TRUE(access.is_admin(caller(kOtherUser)));
}

// Retried until a lookup succeeds.
TEST(Access, AGroupThatCouldNotBeLookedUpIsRetried) {
  std::atomic<int> lookups = 0;
  Result<std::optional<Access::Group>> result = failed("the directory does not result");
  Access access("a", [&](const std::string&) {
    ++lookups;
    return result;
  });
  EXPECT_FALSE(access.is_admin(caller(kUser)));
  access.retry_lookup();
  ASSERT_TRUE(access.wait_for_lookup(kTimeout));
  EXPECT_EQ(lookups, 2);
  EXPECT_FALSE(access.is_admin(caller(kUser)));
  result = Access::Group{.gid = 7, .members = {kUser}};
  access.retry_lookup();
  ASSERT_TRUE(access.wait_for_lookup(kTimeout));
  EXPECT_TRUE(access.is_admin(caller(kUser)));
  result = failed("the directory does not result");
  access.retry_lookup();  // nothing to retry
  ASSERT_TRUE(access.wait_for_lookup(kTimeout));
  EXPECT_EQ(lookups, 3);
  access.reload();
  ASSERT_TRUE(access.wait_for_lookup(kTimeout));
  access.set_group("");
  access.retry_lookup();
  EXPECT_EQ(lookups, 4);
}

// Creating a token for another user is acting as that user, which group members may not.
TEST(Access, OnlySuperusersActAsOthers) {
  const Access access(
      "a", [](const std::string&) { return Access::Group{.gid = 7, .members = {kUser}}; });
  EXPECT_TRUE(access.is_admin(caller(kUser)));
  EXPECT_FALSE(Access::is_superuser(caller(kUser)));
  EXPECT_TRUE(Access::is_superuser(caller(0)));
  EXPECT_TRUE(Access::is_superuser(caller(geteuid())));
  EXPECT_FALSE(Access::is_superuser(caller(0, api::Scope::kWrite)));
  EXPECT_TRUE(access.require_superuser(caller(0), "create tokens for others"));
  if (geteuid() != 0) GTEST_SKIP() << "only root serves others";
  const auto refused = access.require_superuser(caller(kUser), "create tokens for others");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, 403);
  EXPECT_THAT(refused.error().detail, HasSubstr("only root may create tokens for others"));
}

TEST(Access, AScopeRestrictsRights) {
  const Access access("");
  EXPECT_FALSE(access.is_admin(caller(0, api::Scope::kWrite)));
  EXPECT_FALSE(access.may_control(caller(0, api::Scope::kWrite), kUser));
  EXPECT_TRUE(access.may_control(caller(kUser, api::Scope::kWrite), kUser));
  EXPECT_FALSE(access.may_control(caller(kUser, api::Scope::kRead), kUser));
  EXPECT_TRUE(access.may_read(caller(kUser, api::Scope::kRead), kUser));
  EXPECT_FALSE(access.may_read(caller(kOtherUser), kUser));
  EXPECT_FALSE(access.admit_change(caller(geteuid(), api::Scope::kRead)));
  EXPECT_TRUE(access.admit(caller(geteuid(), api::Scope::kRead)));
}

TEST(Access, RefusalsNameWhoMay) {
  if (geteuid() != 0) GTEST_SKIP() << "only root serves others";
  const Access access("root");
  const auto admin = access.require_admin(caller(kUser), "cordon GPUs");
  ASSERT_FALSE(admin);
  EXPECT_EQ(admin.error().status, 403);
  EXPECT_THAT(admin.error().detail, HasSubstr("members of the group root may cordon GPUs"));
  const auto scoped = access.require_admin(caller(0, api::Scope::kWrite), "cordon GPUs");
  ASSERT_FALSE(scoped);
  EXPECT_THAT(scoped.error().detail, HasSubstr("scope write"));
  const auto control = access.require_control(caller(kOtherUser), kUser, "job 7", "cancel");
  ASSERT_FALSE(control);
  EXPECT_THAT(control.error().detail, HasSubstr("only its owner and admins may cancel it"));
}

TEST(Access, SubmissionCanBeRestrictedToAdmins) {
  if (geteuid() != 0) GTEST_SKIP() << "only root serves others";
  Access access("");
  EXPECT_TRUE(access.admit_submission(caller(kUser)));
  access.restrict_submission(true);
  EXPECT_TRUE(access.admit_submission(caller(0)));
  EXPECT_FALSE(access.admit_submission(caller(0, api::Scope::kWrite)));
  const auto refused = access.admit_submission(caller(kUser));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, 403);
  EXPECT_THAT(refused.error().detail, HasSubstr("only root may submit jobs or take leases"));
  access.restrict_submission(false);
  EXPECT_TRUE(access.admit_submission(caller(kUser)));
}

TEST(Access, LeasesTakenForOthersBelongToTheTaker) {
  if (geteuid() != 0) GTEST_SKIP() << "only root serves others";
  const Access access("");
  const auto may = [&](const http::Caller& by, std::uint32_t taker) {
    return access.require_taker(by, taker, kUser, "lease 7", "release");
  };
  EXPECT_TRUE(may(caller(kUser), kUser));
  EXPECT_TRUE(may(caller(kOtherUser), kOtherUser));
  EXPECT_TRUE(may(caller(0), kOtherUser));
  EXPECT_FALSE(may(caller(kOtherUser), kUser));
  EXPECT_FALSE(may(caller(kOtherUser, api::Scope::kRead), kOtherUser));
  ::tangram::testing::await([&] { return user_identity_known(0); });
  const auto owner = may(caller(kUser), 0);
  ASSERT_FALSE(owner);
  EXPECT_EQ(owner.error().status, 403);
  EXPECT_THAT(owner.error().detail, HasSubstr("lease 7 was taken by root for"));
}

}  // namespace
}  // namespace tangram::daemon
