// UserLookup with a user database that answers, hangs or recovers.
#include "daemon/access/user_lookup.hpp"

#include <atomic>
#include <future>
#include <thread>

#include <boost/asio/io_context.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tangram::daemon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using namespace std::chrono_literals;

class UserLookups : public ::testing::Test {
 protected:
  ~UserLookups() override {
    resume();
    while (lookups_active_ > 0) std::this_thread::yield();
  }
  UserLookups() = default;
  UserLookups(const UserLookups&) = delete;
  UserLookups& operator=(const UserLookups&) = delete;
  UserLookups(UserLookups&&) = delete;
  UserLookups& operator=(UserLookups&&) = delete;

  // User 7 is not found while the database hangs.
  Result<Identity> read_database(std::uint32_t uid) {
    ++lookups_active_;
    ++lookups_started_;
    if (uid == 7) hangs_.wait(true);
    --lookups_active_;
    return Identity{.uid = uid, .account = std::nullopt, .groups = {uid}};
  }
  void create(UserLookup::Limits limits) {
    user_lookup_.emplace(loop_, [this](std::uint32_t uid) { return read_database(uid); }, limits);
  }
  void look_up(std::uint32_t uid) {
    user_lookup_->look_up(uid, [this](const Result<Identity>& identity) {
      results_.push_back(identity ? std::to_string(identity->uid) : identity.error().message);
    });
  }
  void await(std::size_t answers) {
    loop_.restart();  // it stops when it runs out of work
    auto work = boost::asio::make_work_guard(loop_);
    while (results_.size() < answers) loop_.run_one();
  }
  void resume() {
    hangs_ = false;
    hangs_.notify_all();
  }

  std::atomic<bool> hangs_ = true;
  std::atomic<int> lookups_started_ = 0;
  std::atomic<int> lookups_active_ = 0;
  boost::asio::io_context loop_;
  std::optional<UserLookup> user_lookup_;
  std::vector<std::string> results_;
};

TEST_F(UserLookups, AHangingOneDelaysNoOther) {
  create({.timeout = 1h});
  for (int i = 0; i < 100; ++i) look_up(7);
  look_up(8);
  EXPECT_THAT(results_, SizeIs(0));  // never within the call
  await(1);
  EXPECT_THAT(results_, ElementsAre("8"));
  resume();
  await(101);
  EXPECT_EQ(results_.back(), "7");
  EXPECT_EQ(lookups_started_, 2);  // one lookup answers all requests for a user
}

TEST_F(UserLookups, AHangingOneTimesOutAndCanBeRepeated) {
  create({.timeout = 10ms});
  look_up(7);
  await(1);
  EXPECT_THAT(results_.back(), HasSubstr("looking up user 7 timed out after 10ms"));
  look_up(7);  // no second thread for it
  await(2);
  EXPECT_EQ(lookups_started_, 1);
  resume();
  while (results_.back() != "7") {
    look_up(7);
    await(results_.size() + 1);
  }
}

TEST_F(UserLookups, AHangingOneIsRetriedOnAnotherThread) {
  create({.timeout = 10ms, .retry_after = 0ms, .threads = 3});
  for (std::size_t i = 1; i <= 5; ++i) {
    look_up(7);
    await(i);
  }
  while (lookups_started_ < 3) std::this_thread::yield();
  EXPECT_EQ(lookups_started_, 3);  // the limit of threads
}

TEST_F(UserLookups, AHangingOneIsAbandonedAtTheEnd) {
  create({.timeout = 1h});
  look_up(7);
  while (lookups_started_ == 0) std::this_thread::yield();
  user_lookup_.reset();
  resume();
  loop_.run();
  EXPECT_THAT(results_, SizeIs(0));
}

TEST(SystemUserLookup, FindsRoot) {
  boost::asio::io_context loop;
  UserLookup lookup(loop);
  std::optional<Result<Identity>> identity;
  lookup.look_up(0, [&](const Result<Identity>& found) { identity = found; });
  loop.run();
  ASSERT_TRUE(identity && *identity && (*identity)->account);
  EXPECT_EQ((*identity)->account->name, "root");
}

}  // namespace
}  // namespace tangram::daemon
