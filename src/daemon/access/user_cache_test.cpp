// When users are looked up, and what the cache returns while the database does not respond.
#include "daemon/access/user_cache.hpp"

#include <algorithm>
#include <atomic>
#include <future>
#include <mutex>
#include <set>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/base/await.hpp"

namespace tangram::daemon {
namespace {

using namespace std::chrono_literals;

class Users : public ::testing::Test {
 protected:
  // After the lookup.
  Account account(UserCache::Time now) {
    ::tangram::testing::await([&] { return users_.identity_known(7, now); });
    return users_.find(7, now);
  }
  std::string name(UserCache::Time now) { return account(now).name; }

  std::atomic<int> lookups_ = 0;
  Result<std::optional<Account>> answer_ = std::nullopt;
  UserCache users_{[this](std::uint32_t) {
    ++lookups_;
    return answer_;
  }};
  UserCache::Time now_ = std::chrono::steady_clock::now();
};

TEST_F(Users, KnownUsersAreLookedUpOnce) {
  answer_ = Account{.name = "ada", .home = {}, .shell = {}, .gid = 5};
  EXPECT_EQ(name(now_), "ada");
  EXPECT_EQ(name(now_ + 1000h), "ada");
  EXPECT_EQ(lookups_, 1);
  answer_ = Account{.name = "ada", .home = {}, .shell = {}, .gid = 6};
  users_.invalidate();
  EXPECT_EQ(account(now_).gid, 6U);
  EXPECT_EQ(name(now_), "ada");
  EXPECT_EQ(lookups_, 2);
}

TEST_F(Users, FailuresAreCachedForAWhile) {
  const auto none = answer_;
  for (const auto& answer : {none, Result<std::optional<Account>>(failed("no response"))}) {
    users_.invalidate();
    lookups_ = 0;
    answer_ = answer;
    EXPECT_EQ(name(now_), "7");
    EXPECT_EQ(name(now_ + 29s), "7");
    EXPECT_EQ(lookups_, 1);
    EXPECT_EQ(name(now_ + 30s), "7");
    EXPECT_EQ(lookups_, 2);
  }
  answer_ = Account{.name = "ada", .home = {}, .shell = {}, .gid = 5};
  EXPECT_EQ(name(now_ + 60s), "ada");
}

TEST_F(Users, KnownUsersStayWhileLookupsFail) {
  answer_ = Account{.name = "ada", .home = {}, .shell = {}, .gid = 5};
  EXPECT_EQ(name(now_), "ada");
  answer_ = failed("no response");
  users_.invalidate();
  EXPECT_EQ(name(now_), "ada");
  EXPECT_EQ(lookups_, 2);
  EXPECT_EQ(name(now_ + 1s), "ada");
  EXPECT_EQ(lookups_, 2);
  answer_ = std::nullopt;
  EXPECT_EQ(name(now_ + 30s), "7");
}

// The lookup hangs: callers wait for a bounded time, and the user has no name and no group.
TEST(NewUsers, AreNumbersUntilTheyAreKnown) {
  std::promise<void> go_on;
  UserCache users(
      [gone_on = go_on.get_future().share()](std::uint32_t uid) -> Result<std::optional<Account>> {
        if (uid == 7) gone_on.wait();
        return Account{.name = "ada", .home = {}, .shell = {}, .gid = 5};
      });
  const UserCache::Time now = std::chrono::steady_clock::now();
  EXPECT_FALSE(users.identity_known(7, now));
  EXPECT_EQ(users.find(7, now).name, "7");
  EXPECT_EQ(users.find(7, now).gid, 0xFFFF'FFFFU);
  EXPECT_FALSE(users.identity_known(7, now + 1s));
  EXPECT_TRUE(users.identity_known(7, now + UserCache::kLookupTimeout));  // but not longer
  EXPECT_EQ(users.find(7, now + UserCache::kLookupTimeout).name, "7");
  users.invalidate();  // while the lookup hangs
  go_on.set_value();
  ::tangram::testing::await([&] { return users.identity_known(7, now); });
  EXPECT_EQ(users.find(7, now).name, "ada");
  EXPECT_EQ(users.find(7, now).gid, 5U);
}

// A user database without users from kFirst on; its lookups can hang.
class ManyUsers : public ::testing::Test {
 protected:
  ~ManyUsers() override { go_on(); }
  ManyUsers() = default;
  ManyUsers(const ManyUsers&) = delete;
  ManyUsers& operator=(const ManyUsers&) = delete;
  ManyUsers(ManyUsers&&) = delete;
  ManyUsers& operator=(ManyUsers&&) = delete;

  static constexpr std::uint32_t kFirst = 100'000;
  static constexpr std::uint32_t kMany = UserCache::kMaxKnown * 5 / 4;

  void hang() { database_->hangs = true; }
  void go_on() {
    database_->hangs = false;
    database_->hangs.notify_all();
  }
  // Looks up `count` users from `first` on, some at a time; `frequent` is used between them.
  void look_up(std::uint32_t first, std::uint32_t count = 1,
               std::optional<std::uint32_t> frequent = std::nullopt) {
    constexpr std::uint32_t kAtATime = 500;
    for (std::uint32_t done = 0; done < count; done += kAtATime) {
      const std::uint32_t end = first + std::min(count, done + kAtATime);
      for (std::uint32_t uid = first + done; uid < end; ++uid) {
        static_cast<void>(users_.find(uid, now_));
      }
      for (std::uint32_t uid = first + done; uid < end; ++uid) {
        ::tangram::testing::await([&] { return users_.is_resolved(uid, now_); });
      }
      EXPECT_TRUE(!frequent || users_.is_resolved(*frequent, now_));
    }
  }
  // The uids looked up since the last call.
  std::vector<std::uint32_t> take_requests() {
    const std::lock_guard lock(database_->mutex);
    return std::exchange(database_->requests, {});
  }

  // Shared with the detached lookup thread.
  struct Database {
    std::atomic<bool> hangs = false;
    std::mutex mutex;
    std::vector<std::uint32_t> requests = {};
  };
  std::shared_ptr<Database> database_ = std::make_shared<Database>();
  UserCache users_{[database = database_](std::uint32_t uid) -> Result<std::optional<Account>> {
    {
      const std::lock_guard lock(database->mutex);
      database->requests.push_back(uid);
    }
    database->hangs.wait(true);
    if (uid >= kFirst) return std::nullopt;
    return Account{.name = "user", .home = {}, .shell = {}, .gid = uid};
  }};
  UserCache::Time now_ = std::chrono::steady_clock::now();
};

TEST_F(ManyUsers, UnknownOnesEvictNoKnownOnes) {
  look_up(1, 100);
  look_up(kFirst, kMany);
  hang();  // an evicted user could not be looked up again
  for (std::uint32_t uid = 1; uid <= 100; ++uid) {
    EXPECT_EQ(users_.find(uid, now_).name, "user") << uid;
  }
}

TEST_F(ManyUsers, KnownOnesEvictTheLeastRecentlyUsed) {
  look_up(0);
  look_up(geteuid());
  look_up(7, 3);
  users_.pin([] { return std::set<std::uint32_t>{7}; });
  look_up(10, kMany, 9);
  hang();
  EXPECT_TRUE(users_.is_resolved(0, now_));
  EXPECT_TRUE(users_.is_resolved(geteuid(), now_));
  EXPECT_TRUE(users_.is_resolved(7, now_));
  EXPECT_FALSE(users_.is_resolved(8, now_));
  EXPECT_TRUE(users_.is_resolved(9, now_));
  EXPECT_TRUE(users_.is_resolved(9 + kMany, now_));
}

TEST_F(ManyUsers, PinnedOnesStayKnown) {
  std::set<std::uint32_t> pinned;
  for (std::uint32_t uid = 1; uid <= kMany; ++uid) pinned.insert(uid);
  users_.pin([&] { return pinned; });
  look_up(1, kMany);
  look_up(kFirst, kMany);
  hang();
  for (const std::uint32_t uid : pinned) EXPECT_TRUE(users_.is_resolved(uid, now_)) << uid;
}

// A full queue does not delay callers; users that did not fit are queued at a later use.
TEST_F(ManyUsers, TheLookupQueueIsBounded) {
  look_up(7);
  hang();
  const std::uint32_t late = 10 + 2 * UserCache::kMaxQueued;
  for (std::uint32_t uid = 10; uid <= late; ++uid) {
    EXPECT_EQ(users_.find(uid, now_).name, std::to_string(uid));
  }
  EXPECT_FALSE(users_.identity_known(late, now_));
  EXPECT_TRUE(users_.identity_known(late, now_ + UserCache::kLookupTimeout));
  users_.invalidate();
  EXPECT_EQ(users_.find(7, now_).name, "user");
  static_cast<void>(take_requests());
  go_on();
  const std::uint32_t last = 10 + UserCache::kMaxQueued - 1;  // was queued in any case
  ::tangram::testing::await([&] { return users_.is_resolved(last, now_); });
  look_up(late);
  EXPECT_EQ(users_.find(late, now_).gid, late);
  const auto requests = take_requests();
  // Known users go first; one lookup may have been running already.
  EXPECT_LE(std::ranges::find(requests, 7U) - requests.begin(), 1);
  EXPECT_LE(requests.size(), UserCache::kMaxQueued + 3);
}

TEST_F(Users, UsersWhoseLookupFailsAreNotResolved) {
  answer_ = failed("no response");
  EXPECT_EQ(name(now_), "7");
  EXPECT_FALSE(users_.is_resolved(7, now_));
  answer_ = std::nullopt;
  EXPECT_EQ(name(now_ + 30s), "7");
  EXPECT_TRUE(users_.is_resolved(7, now_ + 30s));
}

TEST(SystemUsers, AreFound) {
  for (const std::uint32_t uid : {0U, 4'000'000'001U}) {
    ::tangram::testing::await([&] { return user_identity_known(uid); });
  }
  EXPECT_EQ(look_up_identity(0).value().account.value().gid, 0U);
  EXPECT_FALSE(look_up_identity(4'000'000'001).value().account.has_value());
  EXPECT_EQ(user_name(0), "root");
  EXPECT_EQ(group_of(0), 0U);
  EXPECT_EQ(user_name(4'000'000'001), "4000000001");
  EXPECT_EQ(group_of(4'000'000'001), 0xFFFF'FFFFU);
}

}  // namespace
}  // namespace tangram::daemon
