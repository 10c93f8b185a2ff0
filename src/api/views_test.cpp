// Views of jobs and of the node, problems, and text forms of times, sizes and signals.
#include <csignal>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/job.hpp"
#include "api/node.hpp"
#include "api/problem.hpp"
#include "api/signals.hpp"

namespace tangram::api {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;
using ::testing::HasSubstr;

TEST(Durations, AreReadAndWritten) {
  const auto ms = [](std::string_view text) {
    const auto parsed = parse_duration(text);
    return parsed ? parsed->count() : -1;
  };
  EXPECT_EQ(ms("90s"), 90'000);
  EXPECT_EQ(ms("90"), 90'000);
  EXPECT_EQ(ms("1h30m"), 5'400'000);
  EXPECT_EQ(ms("500ms"), 500);
  EXPECT_EQ(ms("1.5h"), 5'400'000);
  EXPECT_EQ(ms("2d"), 172'800'000);
  EXPECT_EQ(ms("0"), 0);
  for (const auto* text : {"", "s", "-1s", "+1s", " 1s", "1s ", "1 s", "1m1h", "1s1s", "1x", "1h30",
                           "1e3s", "1..5s", ".5s", "99999d", "0x10s", "1S", "nan"}) {
    EXPECT_EQ(ms(text), -1) << text;
  }
  for (const auto* text :
       {"0s", "1ms", "999ms", "1s", "1.5s", "1m0.25s", "1m30s", "1h", "1d2h3m4.005s"}) {
    EXPECT_EQ(duration_text(milliseconds(ms(text))), text);
  }
  for (std::int64_t count = 1; count < 1'000'000'000'000; count = count * 3 + 7) {
    EXPECT_EQ(ms(duration_text(milliseconds(count))), count);
  }
}

TEST(Sizes, AreRead) {
  EXPECT_EQ(parse_bytes("8GiB"), std::uint64_t{8} << 30U);
  EXPECT_EQ(parse_bytes("8g"), std::uint64_t{8} << 30U);
  EXPECT_EQ(parse_bytes("1.5KiB"), 1536U);
  EXPECT_EQ(parse_bytes("17"), 17U);
  for (const auto* text : {"", "GiB", "8GB", "-1", "8 GiB", "8GiBs", "1e9", "99999999TiB"}) {
    EXPECT_FALSE(parse_bytes(text).has_value()) << text;
  }
}

TEST(Times, AreReadAndWritten) {
  const auto when = parse_wall("2026-11-16T11:42:03.123456Z");
  ASSERT_TRUE(when.has_value());
  EXPECT_EQ(wall_text(*when), "2026-11-16T11:42:03.123456Z");
  EXPECT_EQ(wall_text(*parse_wall("2024-02-29T00:00:00Z")), "2024-02-29T00:00:00.000000Z");
  EXPECT_EQ(wall_text(*parse_wall("1969-12-31T23:59:59.5Z")), "1969-12-31T23:59:59.500000Z");
  for (const auto* text : {"", "2026-11-16", "2026-02-29T00:00:00Z", "2026-11-16T24:00:00Z",
                           "2026-11-16T11:42:03", "2026-11-16T11:42:03.Z", "2026-11-16 11:42:03Z",
                           "2026-11-16T11:42:03.1234567Z", "2026-11-16T11:42:03,5Z"}) {
    EXPECT_FALSE(parse_wall(text).has_value()) << text;
  }
}

TEST(Signals, HaveNames) {
  EXPECT_EQ(parse_signal("TERM"), SIGTERM);
  EXPECT_EQ(parse_signal("sigusr1"), SIGUSR1);
  EXPECT_EQ(parse_signal("9"), SIGKILL);
  EXPECT_EQ(signal_name(SIGKILL), "SIGKILL");
  for (const auto* text : {"", "0", "65", "-9", "TERMINATE"}) {
    EXPECT_FALSE(parse_signal(text).has_value()) << text;
  }
}

TEST(States, HaveNames) {
  for (int i = 0; i <= static_cast<int>(JobState::kRefused); ++i) {
    const auto state = static_cast<JobState>(i);
    EXPECT_EQ(find_state(name_of(state)), state);
  }
  EXPECT_EQ(find_state("over"), std::nullopt);
  EXPECT_EQ(name_of(JobState::kCancelled), "cancelled");
}

TEST(JobViewJson, HasAllKeysAlways) {
  const json::value document = to_json(JobView{});
  for (const auto* key : {"id", "name", "profile", "state", "gpu", "start", "uuid", "exit_code",
                          "submitted", "started", "ended", "reason", "user", "port"}) {
    EXPECT_TRUE(document.as_object().contains(key)) << key;
  }
  EXPECT_TRUE(document.at("gpu").is_null());
  EXPECT_TRUE(document.at("uuid").is_null());
  EXPECT_TRUE(document.at("started").is_null());
}

TEST(JobViewJson, ComesBackTheSame) {
  JobView job;
  job.id = 17;
  job.user = "ann";
  job.uid = 1000;
  job.request.command = {"/usr/bin/python3", "x"};
  job.request.environment = {{"A", "b"}};
  job.state = JobState::kRunning;
  job.reason = "why";
  job.profile = "2g.10gb";
  job.gpu = 2;
  job.start = 4;
  job.mig_uuid = "MIG-1";
  job.gpu_uuid = "GPU-1";
  job.pid = 99;
  job.exit_signal = 9;
  job.restarts = 1;
  job.submitted = *parse_wall("2026-11-16T11:42:03.123456Z");
  job.started = job.submitted;
  job.moving = true;
  const auto read = read_job_view(to_json(job));
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(to_json(*read), [&] {
    job.request.name = "python3";  // the program's name, because no other is given
    return to_json(job);
  }());
  EXPECT_EQ(read->request.command, job.request.command);
  job.outline = true;
  const json::value outline = to_json(job);
  EXPECT_FALSE(outline.at("request").as_object().contains("command"));
  EXPECT_FALSE(outline.at("request").as_object().contains("environment"));
  EXPECT_EQ(outline.at("name"), "python3");
  EXPECT_TRUE(read_job_view(outline).has_value());
}

// A newer daemon may send keys that this program does not know.
TEST(JobViewJson, IsReadWithUnknownKeys) {
  json::value document = to_json(JobView{});
  document.as_object()["new"] = 1;
  document.at("request").as_object()["newer"] = 1;
  EXPECT_TRUE(read_job_view(document).has_value());
  document.as_object()["state"] = "dreaming";
  EXPECT_THAT(read_job_view(document).error().message,
              HasSubstr("state: unknown value 'dreaming'"));
  EXPECT_THAT(read_job_view(json::object{}).error().message, HasSubstr("id: is missing"));
}

TEST(NodeJson, ComesBackTheSame) {
  GpuView gpu;
  gpu.index = 3;
  gpu.model = "A100-40GB";
  gpu.memory_slices = 8;
  gpu.load = 0.375;
  gpu.frag_cost = 1.0 / 3;
  gpu.instances = {{"2g.10gb", 4, 2, "held", 17, "train", "MIG-1"},
                   {"1g.5gb", 6, 1, "idle", {}, "", ""}};
  const json::value document = to_json(gpu);
  const auto read = read_gpu_view(document);
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(to_json(*read), document);
  EXPECT_EQ(document.at("instances").at(0).at("job"), 17);
  StatusView status;
  status.version = "1";
  status.troubles = {"a", "b"};
  status.profiles = {{"1g.5gb", 4864, 7, {{"A100-40GB", 1, 1, 4864, 7}}}};
  status.user.jobs = {3, 10'000};
  status.user.log_bytes = {1ULL << 40U, {}};
  status.tuning_differences = {{"queue", "fcfs", "largest-memory", false},
                               {"threshold", "0.5", "0.6", true}};
  EXPECT_EQ(to_json(*read_status_view(to_json(status))), to_json(status));
  EXPECT_EQ(read_status_view(to_json(status))->tuning_differences, status.tuning_differences);
  EXPECT_EQ(read_status_view(to_json(status))->profiles.at(0).models.at(0).max_instances, 7U);
  EXPECT_FALSE(read_gpu_view(json::object{{"index", "x"}}).has_value());
  EXPECT_FALSE(read_status_view(json::object{}).has_value());
}

TEST(ProblemJson, ComesBackTheSame) {
  const Problem problem{404, "urn:tangram:no-such-job", "no such job", "job 7: not found"};
  const auto read = read_problem(to_json(problem));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(to_json(*read), to_json(problem));
}

}  // namespace
}  // namespace tangram::api
