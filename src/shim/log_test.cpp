// The logs of a run: complete while there is disk space, always bounded, and lost output is noted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shim/claim.hpp"
#include "shim/rotating_log.hpp"
#include "tests/support/os/small_disk.hpp"
#include "tests/support/shim/run.hpp"

namespace tangram::shim {
namespace {

using os::testing::Folder;
using os::testing::SmallDisk;
using ::testing::EndsWith;
using testing::eventually;
using ::testing::HasSubstr;
using testing::TestRun;

class OpenFolder {
 public:
  explicit OpenFolder(const std::string& path)
      : fd_(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {}
  [[nodiscard]] int get() const { return fd_.get(); }

 private:
  os::Descriptor fd_;
};

std::uint64_t size_of_logs(const std::string& folder, std::string_view prefix) {
  std::uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!entry.path().filename().string().starts_with(prefix)) continue;
    std::error_code gone;  // renamed meanwhile
    const auto size = entry.file_size(gone);
    if (!gone) bytes += size;
  }
  return bytes;
}

TEST(RotatingLog, RotatesExactlyAndDropsTheOldest) {
  Folder base;
  const OpenFolder folder(base.at(""));
  RotatingLog log(folder.get(), "log", 4, 3);
  log.write("abc");
  log.write("defghi");
  EXPECT_EQ(base.read("log.2"), "abcd");
  EXPECT_EQ(base.read("log.1"), "efgh");
  EXPECT_EQ(base.read("log"), "i");
  log.write("jklmnopqrst");
  EXPECT_EQ(base.read("log.2") + base.read("log.1") + base.read("log"), "ijklmnopqrst");
  EXPECT_FALSE(base.has("log.3"));
}

TEST(RotatingLog, OneFileIsEmptiedInPlace) {
  Folder base;
  const OpenFolder folder(base.at(""));
  RotatingLog log(folder.get(), "log", 4, 1);
  log.write("abcdef");
  EXPECT_EQ(base.read("log"), "ef");
  RotatingLog none(folder.get(), "none", 0, 0);
  none.write("abc");
  EXPECT_EQ(base.read("none"), "");
}

TEST(RotatingLog, NotesLostOutputOnceItCanWriteAgain) {
  Folder base;
  const OpenFolder folder(base.at(""));
  // A folder of the same name: the log cannot be opened.
  std::filesystem::create_directory(base.at("log"));
  RotatingLog log(folder.get(), "log", 1'000, 2);
  log.write("12345");
  log.write("678");
  EXPECT_EQ(log.lost(), 8U);
  std::filesystem::remove(base.at("log"));
  log.write("back\n");
  EXPECT_EQ(base.read("log"), "[tangram: 8 bytes of output were lost: Is a directory]\nback\n");
  EXPECT_EQ(log.lost(), 0U);
}

TEST(ShimLog, KeepsTheStreamsApartAndForTheOwnerOnly) {
  TestRun run("echo out; echo err >&2; echo again > /dev/stdout; printf 'no end'");
  EXPECT_EQ(run.run().code, 0);
  EXPECT_EQ(run.output(), "out\nagain\nno end");
  EXPECT_EQ(run.output("stderr.log"), "err\n");
  struct stat status{};
  ASSERT_EQ(::stat((run.folder() + "/stdout.log").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0640U);
}

TEST(ShimLog, IsBounded) {
  TestRun run("yes 0123456789abcdef | head -c 50000000; yes e | head -c 3000000 >&2; echo last");
  run.spec.log_bytes = 100'000;
  run.spec.log_files = 3;
  run.start();
  std::uint64_t most = 0;
  ASSERT_TRUE(eventually([&] {
    most = std::max(most, size_of_logs(run.folder(), "stdout.log"));
    return !is_shim_running(run.folder());
  }));
  EXPECT_EQ(run.record().code, 0);
  // A listing during a rotation may count a file twice.
  EXPECT_LE(most, 4 * 100'000U);
  EXPECT_LE(size_of_logs(run.folder(), "stdout.log"), 3 * 100'000U);
  EXPECT_GE(size_of_logs(run.folder(), "stdout.log"), 2 * 100'000U);
  EXPECT_THAT(run.output(), EndsWith("last\n"));
  EXPECT_FALSE(std::filesystem::exists(run.folder() + "/stdout.log.3"));
  EXPECT_LE(size_of_logs(run.folder(), "stderr.log"), 3 * 100'000U);
}

TEST(ShimLog, LosesNothingThatFits) {
  TestRun run("seq 1 300000");
  run.spec.log_bytes = 500'000;
  run.spec.log_files = 8;
  EXPECT_EQ(run.run().code, 0);
  std::string all;
  for (int age = 7; age >= 1; --age) {
    if (run.base().has(cat("run/stdout.log.", age))) all += run.output(cat("stdout.log.", age));
  }
  all += run.output();
  std::string expected;
  for (int i = 1; i <= 300'000; ++i) expected += cat(i, "\n");
  EXPECT_EQ(all, expected);
}

TEST(ShimLog, KeepsOutputWrittenAtTheEnd) {
  // The shim is stopped meanwhile, so that all output is in the pipe when the job has ended.
  TestRun run("");
  run.spec.command = {"sh", "-c",
                      cat("while [ ! -e ", run.base().at("go"),
                          " ]; do sleep 0.01; done; echo begin; "
                          "head -c 200000 /dev/zero | tr '\\0' y; echo end")};
  const std::string line = run.start();
  const auto pid = static_cast<pid_t>(boost::json::parse(line).at("pid").as_int64());
  ASSERT_EQ(::kill(run.shim(), SIGSTOP), 0);
  run.base().write("go", "");
  ASSERT_TRUE(eventually([&] { return testing::is_gone(pid); }));
  ASSERT_EQ(::kill(run.shim(), SIGCONT), 0);
  EXPECT_EQ(run.record().code, 0);
  EXPECT_EQ(run.output(), cat("begin\n", std::string(200'000, 'y'), "end\n"));
}

TEST(ShimFullDisk, TheJobContinuesAndItsExitIsRecorded) {
  TestRun run("");
  const SmallDisk disk(run.folder());
  if (!disk.is_mounted()) GTEST_SKIP() << "needs root, to mount a small disk";
  const std::string folder = run.base().at("");
  run.spec.command = {"sh", "-c",
                      cat("cd ", folder,
                          "; wait_for() { while [ ! -e $1 ]; do sleep 0.01; done; }; "
                          "echo before; echo > up; wait_for full; "
                          "head -c 300000 /dev/zero | tr '\\0' x; echo > written; wait_for room; "
                          "echo after; wait_for full-again; head -c 9000 /dev/zero; exit 5")};
  run.start();
  ASSERT_TRUE(eventually([&] { return run.base().has("up"); }));
  ASSERT_TRUE(run.prints("before"));
  disk.fill();
  run.base().write("full", "");
  ASSERT_TRUE(eventually([&] { return run.base().has("written"); }));
  // Some output may still be in the pipe: free space only after the shim has read all of it.
  auto client = run.client();
  client.send(R"({"do":"freeze","id":1})");
  ASSERT_TRUE(client.next_with("done"));
  client.send(R"({"do":"thaw","id":2})");
  ASSERT_TRUE(client.next_with("done"));
  disk.empty();
  run.base().write("room", "");
  ASSERT_TRUE(run.prints("after"));
  EXPECT_THAT(run.output(), HasSubstr("bytes of output were lost: No space left on device]\n"));
  disk.fill();
  run.base().write("full-again", "");
  const auto record = run.record();
  EXPECT_EQ(record.code, 5);
  // The last page of the log may have taken some.
  EXPECT_LE(record.lost_output, 9'000U);
  EXPECT_GT(record.lost_output, 9'000U - 4'096U);
}

TEST(ShimFullDisk, AStartCanBePreventedWithoutDiskSpace) {
  TestRun run("");
  const SmallDisk disk(run.folder());
  if (!disk.is_mounted()) GTEST_SKIP() << "needs root, to mount a small disk";
  run.spec.command = {"touch", run.base().at("ran")};
  run.prepare();
  disk.fill();
  const auto sealed = seal_run_folder(run.folder());
  ASSERT_TRUE(sealed) << sealed.error().message;
  EXPECT_TRUE(*sealed);
  disk.empty();
  run.start_prepared();
  EXPECT_EQ(run.wait(), ShimExit::kBadSpec);
  EXPECT_FALSE(run.base().has("ran"));
}

TEST(ShimFullDisk, NothingIsRunWithoutSpaceForTheExitRecord) {
  TestRun run("");
  const SmallDisk disk(run.folder());
  if (!disk.is_mounted()) GTEST_SKIP() << "needs root, to mount a small disk";
  run.spec.command = {"touch", run.base().at("ran")};
  run.prepare();
  disk.fill();
  const std::string line = run.start_prepared();
  EXPECT_THAT(line, HasSubstr("error"));
  EXPECT_THAT(line, HasSubstr("No space left on device"));
  EXPECT_EQ(run.wait(), ShimExit::kDiskFull);
  EXPECT_FALSE(was_started(run.folder()));
  EXPECT_FALSE(run.base().has("ran"));
  disk.empty();
  run.start_prepared();
  EXPECT_EQ(run.record().code, 0);
  EXPECT_TRUE(run.base().has("ran"));
}

}  // namespace
}  // namespace tangram::shim
