// The marker files of checkpoint folders, with file systems that hang.
#include "daemon/runs/checkpoint_files.hpp"

#include <condition_variable>
#include <fstream>
#include <mutex>
#include <set>
#include <thread>
#include <unistd.h>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "tests/support/os/folder.hpp"

namespace tangram::daemon {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::uint32_t kAlice = 1000;
constexpr std::uint32_t kBob = 1001;

// Calls that hang while their path begins with "/hung".
struct HungFiles {
  std::mutex mutex;
  std::condition_variable is_changed;
  bool is_hung = true;
  std::vector<std::string> calls;  // begun

  Result<bool> call(const std::string& path) {
    std::unique_lock lock(mutex);
    calls.push_back(path);
    is_changed.notify_all();
    is_changed.wait(lock, [&] { return !is_hung || !path.starts_with("/hung"); });
    return true;
  }
  void release() {
    const std::scoped_lock lock(mutex);
    is_hung = false;
    is_changed.notify_all();
  }
  std::vector<std::string> begun() {
    const std::scoped_lock lock(mutex);
    return calls;
  }
};

class CheckpointFilesTest : public testing::Test {
 protected:
  ~CheckpointFilesTest() override { hung_->release(); }
  CheckpointFilesTest() = default;
  CheckpointFilesTest(const CheckpointFilesTest&) = delete;
  CheckpointFilesTest& operator=(const CheckpointFilesTest&) = delete;
  CheckpointFilesTest(CheckpointFilesTest&&) = delete;
  CheckpointFilesTest& operator=(CheckpointFilesTest&&) = delete;

  std::unique_ptr<CheckpointFiles> open_hung(CheckpointFiles::Limits limits = {}) {
    const auto call = [hung = hung_](const std::string& path) { return hung->call(path); };
    return std::make_unique<CheckpointFiles>(
        loop_, CheckpointFiles::Calls{.has_file = call, .remove = call}, limits);
  }
  CheckpointFiles::OnFound note(std::string name) {
    return [this, name = std::move(name)](const Result<bool>& found) {
      answers_.push_back(cat(name, found ? (*found ? " yes" : " no") : " error"));
      if (!found) last_error_ = found.error().message;
    };
  }
  void await_answers(std::size_t count) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (answers_.size() < count && std::chrono::steady_clock::now() < deadline) {
      loop_.restart();
      loop_.run_for(milliseconds(5));
    }
    EXPECT_EQ(answers_.size(), count);
  }

  boost::asio::io_context loop_;
  std::shared_ptr<HungFiles> hung_ = std::make_shared<HungFiles>();
  std::vector<std::string> answers_;
  std::string last_error_;
};

TEST_F(CheckpointFilesTest, FindAndRemoveRegularFilesOnly) {
  const os::testing::Folder folder;
  folder.write("saved", "");
  folder.write("target", "");
  ASSERT_EQ(::symlink("target", folder.at("resumed").c_str()), 0);
  CheckpointFiles files(loop_);
  const std::string path = folder.at(".");
  files.look_for(kAlice, path, kSavedFile, note("saved"));
  files.look_for(kAlice, path, kResumedFile, note("link"));
  files.remove(kAlice, path, kSavedFile,
               [&](const Result<void>& r) { note("removed")(r.has_value()); });
  files.look_for(kAlice, path, kSavedFile, note("saved"));
  files.remove(kAlice, path, kSavedFile,
               [&](const Result<void>& r) { note("again")(r.has_value()); });
  EXPECT_TRUE(answers_.empty());  // never within the call
  await_answers(5);
  EXPECT_THAT(answers_,
              ElementsAre("saved yes", "link no", "removed yes", "saved no", "again yes"));
}

TEST_F(CheckpointFilesTest, AHungUserTakesOneThreadAndDelaysNoOther) {
  const auto files = open_hung({.threads = 2});
  for (int i = 0; i < 10; ++i) files->look_for(kAlice, "/hung", kSavedFile, note("alice"));
  for (int i = 0; i < 10; ++i) files->look_for(kBob, "/good", kSavedFile, note("bob"));
  await_answers(10);
  EXPECT_EQ(std::set<std::string>(answers_.begin(), answers_.end()),
            std::set<std::string>{"bob yes"});
  EXPECT_EQ(std::ranges::count(hung_->begun(), "/hung/saved"), 1);
  hung_->release();
  await_answers(20);
}

TEST_F(CheckpointFilesTest, RequestsTimeOutAndAreThenNotExecuted) {
  const auto files = open_hung({.timeout = milliseconds(50)});
  files->look_for(kAlice, "/hung", kSavedFile, note("first"));
  files->remove(kAlice, "/hung", kResumedFile,
                [&](const Result<void>& r) { note("second")(r.has_value()); });
  await_answers(2);
  EXPECT_THAT(answers_, ElementsAre("first error", "second no"));
  EXPECT_THAT(last_error_, HasSubstr("did not respond within 50ms"));
  hung_->release();
  files->look_for(kAlice, "/good", kSavedFile, note("third"));
  await_answers(3);
  EXPECT_EQ(answers_.back(), "third yes");
  EXPECT_THAT(hung_->begun(), ElementsAre("/hung/saved", "/good/saved"));
}

TEST_F(CheckpointFilesTest, NoCallbackComesAfterTheOwnerIsGone) {
  auto files = open_hung();
  files->look_for(kAlice, "/hung", kSavedFile, note("late"));
  files->look_for(kBob, "/good", kSavedFile, note("posted"));
  while (hung_->begun().size() < 2) std::this_thread::yield();
  files.reset();  // does not wait
  hung_->release();
  loop_.run_for(milliseconds(50));
  EXPECT_TRUE(answers_.empty());
}

}  // namespace
}  // namespace tangram::daemon
