// The run folder and the JSON files in it.
#include "shim/run_folder.hpp"

#include <filesystem>
#include <limits>
#include <sys/stat.h>

#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shim/claim.hpp"
#include "tests/support/os/folder.hpp"

namespace tangram::shim {
namespace {

using os::testing::Folder;
using ::testing::HasSubstr;

api::RunSpec full_spec() {
  api::RunSpec spec;
  spec.job = std::numeric_limits<std::uint64_t>::max();
  spec.run = 3;
  spec.tag = "node-1/7";
  spec.command = {"python3", "-c", "print('ä')", "", "line\nbreak", "not UTF-8: \xff\xfe"};
  spec.environment = {{"PATH", "/bin"}, {"EMPTY", ""}, {"ODD", "a=b\x80"}};
  spec.directory = "/tmp";
  spec.user = api::RunSpec::User{.uid = 4'294'967'294U, .gid = 7, .groups = {7, 8}};
  spec.pam = api::RunSpec::Pam{
      .user = "alice", .folder = "/etc/x", .nofile = api::ResourceLimit{.soft = 7, .hard = {}}};
  spec.umask = 077;
  spec.resource_limits = {{"nofile", {.soft = 64, .hard = std::nullopt}},
                          {"as", {.soft = std::numeric_limits<std::uint64_t>::max(), .hard = 1}}};
  spec.grace = std::chrono::milliseconds(1);
  spec.time_limit = std::chrono::hours(1);
  spec.time_spent = std::chrono::minutes(7);
  spec.probe_command = {"true"};
  spec.log_bytes = 5;
  spec.log_files = 1;
  spec.cgroup = "/sys/fs/cgroup/x";
  spec.cpu_percent = 150;
  spec.memory_bytes = 1ULL << 40U;
  spec.pids_limit = 4096;
  return spec;
}

TEST(RunFolder, KeepsEverySpecificationExactly) {
  Folder base;
  api::RunSpec least;
  least.tag = "t";
  least.command = {"true"};
  int count = 0;
  for (const api::RunSpec& spec : {full_spec(), least}) {
    const std::string folder = base.at(std::to_string(++count));
    ASSERT_TRUE(prepare_folder(folder, spec));
    const auto read = read_spec(folder);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, spec);
  }
}

TEST(RunFolder, IsOnlyForItsOwner) {
  Folder base;
  ASSERT_TRUE(prepare_folder(base.at("run"), full_spec()));
  struct stat status{};
  ASSERT_EQ(::stat(base.at("run").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
  ASSERT_EQ(::stat(base.at("run/spec.json").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST(RunFolder, CanBePreparedAgainUntilARunWasStarted) {
  Folder base;
  ASSERT_TRUE(prepare_folder(base.at("run"), full_spec()));
  ASSERT_TRUE(prepare_folder(base.at("run"), full_spec()));
  base.write("run/started", "");
  const auto again = prepare_folder(base.at("run"), full_spec());
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().message, HasSubstr("started in it before"));
  EXPECT_FALSE(prepare_folder(base.at("no/such"), full_spec()));
}

TEST(RunFolder, UnknownKeysAreIgnoredOtherVersionsAreNot) {
  Folder base;
  boost::json::object document = api::to_json(full_spec()).as_object();
  document["from_the_future"] = true;
  base.write("run/spec.json", boost::json::serialize(document));
  EXPECT_TRUE(read_spec(base.at("run")));
  document["version"] = 2;
  base.write("run/spec.json", boost::json::serialize(document));
  const auto newer = read_spec(base.at("run"));
  ASSERT_FALSE(newer);
  EXPECT_THAT(newer.error().message, HasSubstr("version 2"));
}

TEST(RunFolder, ReportsMistakesInASpecification) {
  const std::pair<const char*, const char*> mistakes[] = {
      {"umask", "\"umask\" must be"},         {"command", "\"command\" must be"},
      {"environment", "\"environment\""},     {"grace_ms", "\"grace_ms\" must be"},
      {"user", "cannot read the user"},       {"tag", "\"tag\" must be"},
      {"log_bytes", "\"log_bytes\" must"},    {"resource_limits", "\"resource_limits\" must"},
      {"cpu_percent", "\"cpu_percent\" m"},   {"version", "\"version\" must be"},
      {"pam", "cannot read the PAM session"},
  };
  for (const auto& [key, message] : mistakes) {
    boost::json::object document = api::to_json(full_spec()).as_object();
    document[key] = -1;
    const auto read = api::read_run_spec(document);
    ASSERT_FALSE(read) << key;
    EXPECT_THAT(read.error().message, HasSubstr(message));
  }
  for (const char* key : {"job", "command", "directory", "version", "cgroup"}) {
    boost::json::object document = api::to_json(full_spec()).as_object();
    document.erase(key);
    EXPECT_FALSE(api::read_run_spec(document)) << key;
  }
  EXPECT_FALSE(api::read_run_spec(7));
}

TEST(RunFolder, RejectsStringsThatExecCannotTake) {
  api::RunSpec spec = full_spec();
  spec.command = {std::string("a\0b", 3)};
  EXPECT_FALSE(api::read_run_spec(api::to_json(spec)));
  spec = full_spec();
  spec.environment["A=B"] = "c";
  EXPECT_FALSE(api::read_run_spec(api::to_json(spec)));
  spec = full_spec();
  spec.command.clear();
  EXPECT_FALSE(api::read_run_spec(api::to_json(spec)));
}

TEST(RunFolder, ReadsTheExitRecord) {
  Folder base;
  EXPECT_EQ(*read_exit(base.at("run")), std::nullopt);
  base.write("run/exit", "");
  EXPECT_EQ(*read_exit(base.at("run")), std::nullopt);
  base.write("run/exit", std::string(kExitFileBytes, '\0'));
  EXPECT_EQ(*read_exit(base.at("run")), std::nullopt);
  const api::ExitRecord record{.code = 3,
                               .signal = std::nullopt,
                               .reason = "why \"not\" \x01",
                               .time_limit = true,
                               .stopped = true,
                               .started = api::WallTime(std::chrono::microseconds(1)),
                               .ended = api::WallTime(std::chrono::microseconds(-5))};
  const std::string text = exit_file_text(record);
  base.write("run/exit", text);
  EXPECT_EQ(*read_exit(base.at("run")), std::optional(record));
  base.write("run/exit", text.substr(0, 20) + std::string(kExitFileBytes - 20, '\0'));
  const auto damaged = read_exit(base.at("run"));
  ASSERT_FALSE(damaged);
  EXPECT_THAT(damaged.error().message, HasSubstr("damaged"));
}

TEST(RunFolder, ARecordAlwaysFitsItsFile) {
  api::ExitRecord record;
  record.signal = 9;
  record.reason = std::string(100'000, '\x01');
  const std::string text = exit_file_text(record);
  EXPECT_EQ(text.size(), kExitFileBytes);
  Folder base;
  base.write("run/exit", text);
  const auto read = read_exit(base.at("run"));
  ASSERT_TRUE(read && *read);
  EXPECT_EQ((*read)->signal, 9);
}

TEST(RunFolder, WorksWithoutAShim) {
  Folder base;
  EXPECT_FALSE(is_shim_running(base.at("run")));
  EXPECT_FALSE(was_started(base.at("run")));
  EXPECT_EQ(read_started(base.at("run"))->has_value(), false);
  EXPECT_FALSE(connect_control(base.at("run")));
  base.write("run/started", "");
  EXPECT_TRUE(was_started(base.at("run")));
  EXPECT_FALSE(read_started(base.at("run")));
}

}  // namespace
}  // namespace tangram::shim
