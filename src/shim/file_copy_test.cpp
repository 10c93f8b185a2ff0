// Output in files of the user: complete, written with the user's rights, and no danger to the job.
#include "shim/file_copy.hpp"

#include <csignal>
#include <fcntl.h>
#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/shim/run.hpp"

namespace tangram::shim {
namespace {

using ::testing::EndsWith;
using testing::eventually;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing::TestRun;

constexpr uid_t kNobody = 65534;

TEST(FileCopy, HasTheOutputAndSoHasTheLog) {
  TestRun run("echo one; echo two >&2");
  run.spec.directory = run.base().at(".");
  run.spec.output = "out";
  run.spec.error = "err";
  EXPECT_EQ(run.run().reason, "");
  EXPECT_EQ(run.base().read("out"), "one\n");
  EXPECT_EQ(run.base().read("err"), "two\n");
  EXPECT_EQ(run.output(), "one\n");
}

TEST(FileCopy, OneFileMayHaveBothStreamsAndIsAppendedTo) {
  TestRun run("echo one; sleep 0.1; echo two >&2");
  run.base().write("out", "before\n");
  run.spec.output = run.spec.error = run.base().at("out");
  EXPECT_EQ(run.run().code, 0);
  EXPECT_EQ(run.base().read("out"), "before\none\ntwo\n");
}

TEST(FileCopy, LosesNothingOfMuchOutput) {
  TestRun run("head -c 30000000 /dev/zero | tr '\\0' x; (sleep 0.2; echo late) &");
  run.spec.output = run.base().at("out");
  const auto record = run.run();
  EXPECT_EQ(record.reason, "");
  EXPECT_EQ(std::filesystem::file_size(run.base().at("out")), 30'000'000U);
}

TEST(FileCopy, AFileThatCannotBeOpenedIsAReasonNotToRun) {
  for (const char* name : {"none/out", "folder", "fifo"}) {
    TestRun run("echo ran > ran");
    run.spec.directory = run.base().at(".");
    ASSERT_EQ(::mkdir(run.base().at("folder").c_str(), 0700), 0);
    ASSERT_EQ(::mkfifo(run.base().at("fifo").c_str(), 0600), 0);
    run.spec.output = name;
    const auto record = run.run();
    EXPECT_EQ(record.code, 126);
    EXPECT_THAT(record.reason, StartsWith(cat("cannot open the output file '", name, "': ")));
    EXPECT_FALSE(run.base().has("ran"));
  }
}

TEST(FileCopy, IsOpenedWithTheRightsOfTheUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to run as another user";
  TestRun run("echo hello");
  ASSERT_EQ(::chmod(run.base().at(".").c_str(), 0755), 0);
  run.spec.user = api::RunSpec::User{.uid = kNobody, .gid = kNobody, .groups = {}};
  run.spec.output = run.base().at("out");
  const auto refused = run.run();
  EXPECT_THAT(refused.reason, HasSubstr("Permission denied"));
  EXPECT_FALSE(run.base().has("out"));
  TestRun again("echo hello");
  ASSERT_EQ(::chmod(again.base().at(".").c_str(), 0777), 0);
  again.spec.user = run.spec.user;
  again.spec.umask = 027;
  again.spec.output = again.base().at("out");
  EXPECT_EQ(again.run().code, 0);
  struct stat status{};
  ASSERT_EQ(::stat(again.base().at("out").c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, kNobody);
  EXPECT_EQ(status.st_mode & 0777, 0640);
}

TEST(FileCopy, EndsAtTheFirstErrorAndCountsWhatIsMissing) {
  TestRun run("echo one; sleep 0.1; echo two");
  run.spec.output = "/dev/full";
  const auto record = run.run();
  EXPECT_EQ(record.code, 0);
  EXPECT_EQ(record.reason,
            "8 bytes of output were not written to '/dev/full': No space left on device");
  EXPECT_EQ(run.output(), "one\ntwo\n");
}

// A named pipe whose reader reads nothing stands in for a file system that hangs.
TEST(FileCopy, AFileThatHangsStopsNeitherTheJobNorItsLog) {
  TestRun run("head -c 3000000 /dev/zero | tr '\\0' x; echo end");
  ASSERT_EQ(::mkfifo(run.base().at("fifo").c_str(), 0600), 0);
  const os::Descriptor reader(
      ::open(run.base().at("fifo").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  ASSERT_TRUE(reader.ok());
  run.spec.output = run.base().at("fifo");
  const auto begin = std::chrono::steady_clock::now();
  const auto record = run.run();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 3 * FileCopy::kStallTime);
  EXPECT_EQ(record.code, 0);
  EXPECT_THAT(record.reason, HasSubstr("bytes of output were not written to "));
  EXPECT_THAT(record.reason, EndsWith("it took nothing for 10s"));
  EXPECT_EQ(run.output().size(), 3'000'004U);
  EXPECT_THAT(run.output(), EndsWith("end\n"));
}

TEST(FileCopy, ARunCanBeStoppedAndKilledWhileItsFileHangs) {
  TestRun run("yes");
  ASSERT_EQ(::mkfifo(run.base().at("fifo").c_str(), 0600), 0);
  const os::Descriptor reader(
      ::open(run.base().at("fifo").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  run.spec.output = run.base().at("fifo");
  run.start();
  auto client = run.client();
  EXPECT_TRUE(client.reaches("running"));
  client.send(R"({"do":"stop"})");
  EXPECT_TRUE(client.next_with("exit"));
  EXPECT_EQ(run.record().signal, SIGTERM);
}

}  // namespace
}  // namespace tangram::shim
