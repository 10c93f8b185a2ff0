// Who a user is, asked of a database that answers, hangs, or comes back.
#include "daemon/directory.hpp"

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

class Asked : public ::testing::Test {
 protected:
  ~Asked() override {
    go_on();
    while (within_ > 0) std::this_thread::yield();
  }
  Asked() = default;
  Asked(const Asked&) = delete;
  Asked& operator=(const Asked&) = delete;
  Asked(Asked&&) = delete;
  Asked& operator=(Asked&&) = delete;

  // User 7 is not found while the database hangs.
  Result<Identity> look_up(std::uint32_t uid) {
    ++within_;
    ++asked_;
    if (uid == 7) hangs_.wait(true);
    --within_;
    return Identity{.uid = uid, .account = std::nullopt, .groups = {uid}};
  }
  void begin(Directory::Limits limits) {
    directory_.emplace(loop_, [this](std::uint32_t uid) { return look_up(uid); }, limits);
  }
  void ask(std::uint32_t uid) {
    directory_->ask(uid, [this](const Result<Identity>& who) {
      told_.push_back(who ? std::to_string(who->uid) : who.error().message);
    });
  }
  void await(std::size_t answers) {
    loop_.restart();  // it stops whenever nothing is left to be done
    auto work = boost::asio::make_work_guard(loop_);
    while (told_.size() < answers) loop_.run_one();
  }
  void go_on() {
    hangs_ = false;
    hangs_.notify_all();
  }

  std::atomic<bool> hangs_ = true;
  std::atomic<int> asked_ = 0;
  std::atomic<int> within_ = 0;
  boost::asio::io_context loop_;
  std::optional<Directory> directory_;
  std::vector<std::string> told_;
};

TEST_F(Asked, OneThatHangsKeepsNobodyElseWaiting) {
  begin({.patience = 1h});
  for (int i = 0; i < 100; ++i) ask(7);
  ask(8);
  EXPECT_THAT(told_, SizeIs(0));  // never within the call
  await(1);
  EXPECT_THAT(told_, ElementsAre("8"));
  go_on();
  await(101);
  EXPECT_EQ(told_.back(), "7");
  EXPECT_EQ(asked_, 2);  // one answer for all who wait for it
}

TEST_F(Asked, OneThatHangsIsGivenUpAndMayBeAskedAgain) {
  begin({.patience = 10ms});
  ask(7);
  await(1);
  EXPECT_THAT(told_.back(), HasSubstr("did not say within 10ms who the user 7 is"));
  ask(7);  // no second thread for it
  await(2);
  EXPECT_EQ(asked_, 1);
  go_on();
  while (told_.back() != "7") {
    ask(7);
    await(told_.size() + 1);
  }
}

TEST_F(Asked, OneThatHangsForLongIsAskedOnceMore) {
  begin({.patience = 10ms, .hopeless = 0ms, .threads = 3});
  for (std::size_t i = 1; i <= 5; ++i) {
    ask(7);
    await(i);
  }
  while (asked_ < 3) std::this_thread::yield();
  EXPECT_EQ(asked_, 3);  // as many threads as may hang, and no more
}

TEST_F(Asked, OneThatHangsIsLeftBehindAtTheEnd) {
  begin({.patience = 1h});
  ask(7);
  while (asked_ == 0) std::this_thread::yield();
  directory_.reset();
  go_on();
  loop_.run();
  EXPECT_THAT(told_, SizeIs(0));
}

TEST(TheDirectory, KnowsRoot) {
  boost::asio::io_context loop;
  Directory directory(loop);
  std::optional<Result<Identity>> who;
  directory.ask(0, [&](const Result<Identity>& found) { who = found; });
  loop.run();
  ASSERT_TRUE(who && *who && (*who)->account);
  EXPECT_EQ((*who)->account->name, "root");
}

}  // namespace
}  // namespace tangram::daemon
