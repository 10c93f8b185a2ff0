// How often users are looked up, and who they are when nobody answers.
#include "daemon/users.hpp"

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

// A directory that knows nobody with a high number; it can be told to hang.
class Crowd : public ::testing::Test {
 protected:
  ~Crowd() override { go_on(); }
  Crowd() = default;
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;
  Crowd(Crowd&&) = delete;
  Crowd& operator=(Crowd&&) = delete;

  static constexpr std::uint32_t kFirst = 100'000;
  static constexpr std::uint32_t kMany = KnownUsers::kMostKnown * 5 / 4;

  void hang() { directory_->hangs = true; }
  void go_on() {
    directory_->hangs = false;
    directory_->hangs.notify_all();
  }
  // So many from that one on, some at a time; the `friend_of_all` is asked for with all of them.
  void look_up(std::uint32_t first, std::uint32_t count = 1,
               std::optional<std::uint32_t> friend_of_all = std::nullopt) {
    constexpr std::uint32_t kAtATime = 500;
    for (std::uint32_t done = 0; done < count; done += kAtATime) {
      const std::uint32_t end = first + std::min(count, done + kAtATime);
      for (std::uint32_t uid = first + done; uid < end; ++uid) {
        static_cast<void>(users_.find(uid, now_));
      }
      for (std::uint32_t uid = first + done; uid < end; ++uid) {
        while (!users_.is_known(uid, now_)) std::this_thread::yield();
      }
      EXPECT_TRUE(!friend_of_all || users_.is_known(*friend_of_all, now_));
    }
  }
  // Whom the directory was asked for, since the last time.
  std::vector<std::uint32_t> take_asked() {
    const std::lock_guard lock(directory_->mutex);
    return std::exchange(directory_->asked, {});
  }

  // Shared, because nobody waits for the thread that asks it.
  struct TheDirectory {
    std::atomic<bool> hangs = false;
    std::mutex mutex;
    std::vector<std::uint32_t> asked = {};
  };
  std::shared_ptr<TheDirectory> directory_ = std::make_shared<TheDirectory>();
  KnownUsers users_{[directory = directory_](std::uint32_t uid) -> Result<std::optional<Account>> {
    {
      const std::lock_guard lock(directory->mutex);
      directory->asked.push_back(uid);
    }
    directory->hangs.wait(true);
    if (uid >= kFirst) return std::nullopt;
    return Account{.name = "somebody", .home = {}, .shell = {}, .gid = uid};
  }};
  KnownUsers::Time now_ = std::chrono::steady_clock::now();
};

TEST_F(Crowd, OfStrangersDisplacesNobodyWhoIsKnown) {
  look_up(1, 100);
  look_up(kFirst, kMany);
  hang();  // who was forgotten would not be known again
  for (std::uint32_t uid = 1; uid <= 100; ++uid) {
    EXPECT_EQ(users_.find(uid, now_).name, "somebody") << uid;
  }
}

TEST_F(Crowd, OfUsersDisplacesThoseWhoWereNotAskedForTheLongest) {
  look_up(0);
  look_up(geteuid());
  look_up(7, 3);
  users_.keep([] { return std::set<std::uint32_t>{7}; });
  look_up(10, kMany, 9);
  hang();
  EXPECT_TRUE(users_.is_known(0, now_));
  EXPECT_TRUE(users_.is_known(geteuid(), now_));
  EXPECT_TRUE(users_.is_known(7, now_));
  EXPECT_FALSE(users_.is_known(8, now_));
  EXPECT_TRUE(users_.is_known(9, now_));
  EXPECT_TRUE(users_.is_known(9 + kMany, now_));
}

TEST_F(Crowd, OfThoseWhoAreKeptStaysKnown) {
  std::set<std::uint32_t> kept;
  for (std::uint32_t uid = 1; uid <= kMany; ++uid) kept.insert(uid);
  users_.keep([&] { return kept; });
  look_up(1, kMany);
  look_up(kFirst, kMany);
  hang();
  for (const std::uint32_t uid : kept) EXPECT_TRUE(users_.is_known(uid, now_)) << uid;
}

// Nobody waits longer for that, and whoever finds no room in the queue does so later.
TEST_F(Crowd, ThatWaitsToBeLookedUpIsBounded) {
  look_up(7);
  hang();
  const std::uint32_t late = 10 + 2 * KnownUsers::kMostWaiting;
  for (std::uint32_t uid = 10; uid <= late; ++uid) {
    EXPECT_EQ(users_.find(uid, now_).name, std::to_string(uid));
  }
  EXPECT_FALSE(users_.is_settled(late, now_));
  EXPECT_TRUE(users_.is_settled(late, now_ + KnownUsers::kPatience));
  users_.doubt();
  EXPECT_EQ(users_.find(7, now_).name, "somebody");
  static_cast<void>(take_asked());
  go_on();
  const std::uint32_t last = 10 + KnownUsers::kMostWaiting - 1;  // who found room in any case
  while (!users_.is_known(last, now_)) std::this_thread::yield();
  look_up(late);
  EXPECT_EQ(users_.find(late, now_).gid, late);
  const auto asked = take_asked();
  // Who was known before came first; one may have been on his way to be looked up.
  EXPECT_LE(std::ranges::find(asked, 7U) - asked.begin(), 1);
  EXPECT_LE(asked.size(), KnownUsers::kMostWaiting + 3);
}

TEST_F(Users, WhoCannotBeAskedForIsNotKnown) {
  answer_ = failed("it does not answer");
  EXPECT_EQ(name(now_), "7");
  EXPECT_FALSE(users_.is_known(7, now_));
  answer_ = std::nullopt;
  EXPECT_EQ(name(now_ + 30s), "7");
  EXPECT_TRUE(users_.is_known(7, now_ + 30s));
}

TEST(TheSystemsUsers, AreFound) {
  for (const std::uint32_t uid : {0U, 4'000'000'001U}) {
    while (!is_user_settled(uid)) std::this_thread::yield();
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
