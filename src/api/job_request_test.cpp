// Job requests: round trips, and errors that name the key.
#include <limits>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/job.hpp"
#include "base/text.hpp"

namespace tangram::api {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

JobRequest full() {
  JobRequest r;
  r.name = "träin";
  r.command = {"python", "a b.py", ""};
  r.environment = {{"PATH", "/bin"}, {"EMPTY", ""}, {"ODD", "\x01\"\\ä"}};
  r.directory = "/home/a b";
  r.umask = 027;
  r.resource_limits = {{"nofile", {1024, 4096}}, {"core", {0, std::nullopt}}, {"stack", {}}};
  r.gpu_memory_mib = 8192;
  r.kind = JobKind::kService;
  r.port = 8080;
  r.probe.kind = Probe::Kind::kHttp;
  r.probe.path = "/health?x=1";
  r.probe.interval = std::chrono::milliseconds(1500);
  r.endpoint = {.mode = EndpointMode::kHttp,
                .host = "0.0.0.0",
                .forwarded = true,
                .drain = std::chrono::milliseconds(5000),
                .limits = {.wait = std::chrono::minutes(2),
                           .connect = std::chrono::milliseconds(1500),
                           .keep_alive = std::chrono::seconds(5),
                           .idle = std::chrono::milliseconds(0),
                           .most_connections = 100}};
  r.move = {
      .way = MoveMethod::kReplica, .signal = 12, .deadline = std::chrono::milliseconds(90'000)};
  r.gpu_model = "A100-40GB";
  r.priority = -100;
  r.grace = std::chrono::milliseconds(0);
  r.restart = Restart::kOnFailure;
  r.max_restarts = 7;
  r.time_limit = std::chrono::hours(36) + std::chrono::milliseconds(250);
  r.cpu_percent = 150;
  r.memory_bytes = std::uint64_t{4} << 30U;
  r.labels = {{"team/a", "x y"}, {"v1.0", ""}};
  r.output = "logs/%j.out";
  r.error = "/tmp/100%%-%j.err";
  r.hold = true;
  r.after = {{.job = 12}, {.job = 13, .condition = EndCondition::kAny}};
  return r;
}

json::object smallest() { return {{"command", {"true"}}, {"profile", "1g.5gb"}}; }

std::string error_of(std::string_view text) {
  json::object job = smallest();
  const json::value changes = json::parse({text.data(), text.size()});
  for (const auto& change : changes.as_object()) job[change.key()] = change.value();
  const auto read = read_job_request(job);
  EXPECT_FALSE(read.has_value()) << text;
  return read ? "" : read.error().message;
}

TEST(JobRequestJson, ComesBackTheSame) {
  const std::string text = json::serialize(to_json(full()));
  const auto read = read_job_request(json::parse(text));
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(*read, full());
  JobRequest by_command = full();
  by_command.probe = {.kind = Probe::Kind::kCommand, .path = "/", .command = {"sh", "-c", "x"}};
  EXPECT_EQ(*read_job_request(to_json(by_command)), by_command);
}

TEST(JobRequestJson, HasDefaults) {
  const auto read = read_job_request(smallest());
  ASSERT_TRUE(read.has_value());
  JobRequest expected;
  expected.command = {"true"};
  expected.profile = "1g.5gb";
  EXPECT_EQ(*read, expected);
}

TEST(JobRequestJson, AcceptsShortForms) {
  json::object job = smallest();
  job["time_limit"] = 90;
  job["grace"] = 0.5;
  job["memory"] = "1.5GiB";
  job["cpus"] = 2;
  job["umask"] = "0022";
  job["port"] = nullptr;
  job["resource_limits"] = {{"nofile", 1024}, {"core", "unlimited"}};
  const auto read = read_job_request(job);
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->time_limit, std::chrono::seconds(90));
  EXPECT_EQ(read->grace, std::chrono::milliseconds(500));
  EXPECT_EQ(read->memory_bytes, std::uint64_t{3} << 29U);
  EXPECT_EQ(read->cpu_percent, 200U);
  EXPECT_EQ(read->umask, 022U);
  EXPECT_EQ(read->resource_limits.at("nofile"), (ResourceLimit{1024, 1024}));
  EXPECT_EQ(read->resource_limits.at("core"), ResourceLimit{});
}

TEST(JobRequestJson, NamesTheKeyOfAnError) {
  EXPECT_EQ(error_of(R"({"comand": ["x"]})"),
            "comand: unknown key of a job; did you mean 'command'?");
  EXPECT_THAT(error_of(R"({"xyzzy": 1})"),
              StartsWith("xyzzy: unknown key of a job; valid keys: name, "));
  EXPECT_THAT(error_of(R"({"command": "true"})"), StartsWith("command: must be a list of strings"));
  EXPECT_THAT(error_of(R"({"command": []})"), StartsWith("command: is missing"));
  EXPECT_THAT(error_of(R"({"command": [""]})"), StartsWith("command: is missing"));
  EXPECT_THAT(error_of(R"({"command": ["a", 1]})"),
              StartsWith("command[1]: must be a string, not 1"));
  EXPECT_THAT(error_of(R"({"command": ["a\u0000b"]})"),
              StartsWith("command[0]: must not contain a NUL"));
  EXPECT_THAT(error_of(R"({"name": "a\u001bb"})"), StartsWith("name: "));
  EXPECT_THAT(error_of(R"({"name": "a\u202eb"})"), StartsWith("name: "));
  EXPECT_THAT(error_of(R"({"environment": {"A=B": "x"}})"), StartsWith("environment.A=B: "));
  EXPECT_THAT(error_of(R"({"environment": {"A": 1}})"),
              StartsWith("environment.A: must be a string"));
  EXPECT_THAT(error_of(R"({"directory": "home"})"), StartsWith("directory: must be an absolute"));
  EXPECT_THAT(error_of(R"({"umask": "089"})"), StartsWith("umask: must be octal"));
  EXPECT_THAT(error_of(R"({"umask": 18})"), StartsWith("umask: must be a string"));
  EXPECT_THAT(error_of(R"({"resource_limits": {"nofil": 1}})"),
              HasSubstr("did you mean 'nofile'?"));
  EXPECT_THAT(error_of(R"({"resource_limits": {"nofile": -1}})"),
              StartsWith("resource_limits.nofile: must be a number"));
  EXPECT_THAT(error_of(R"({"resource_limits": {"nofile": {"soft": 2, "hard": 1}}})"),
              HasSubstr("soft limit above"));
  EXPECT_THAT(error_of(R"({"kind": "servce"})"),
              StartsWith("kind: unknown value 'servce'; did you mean 'service'?"));
  EXPECT_THAT(error_of(R"({"port": 0})"),
              StartsWith("port: must be a whole number from 1 to 65535"));
  EXPECT_THAT(error_of(R"({"grace": "soon"})"), StartsWith("grace: invalid duration 'soon'"));
  EXPECT_THAT(error_of(R"({"grace": -1})"), StartsWith("grace: must be a duration from 0s to 1d"));
  EXPECT_THAT(error_of(R"({"time_limit": 0})"), StartsWith("time_limit: "));
  EXPECT_THAT(error_of(R"({"priority": 101})"), StartsWith("priority: must be from -100 to 100"));
  EXPECT_THAT(error_of(R"({"priority": "high"})"), StartsWith("priority: "));
  EXPECT_THAT(error_of(R"({"gpu_model": 100})"), StartsWith("gpu_model: must be a string"));
  EXPECT_THAT(error_of(R"({"max_restarts": 65536})"), StartsWith("max_restarts: "));
  EXPECT_THAT(error_of(R"({"max_restarts": 1.5})"), HasSubstr("a number with a fraction"));
  EXPECT_THAT(error_of(R"({"cpus": 0})"), StartsWith("cpus: "));
  EXPECT_THAT(error_of(R"({"cpus": "2"})"), StartsWith("cpus: must be a number"));
  EXPECT_THAT(error_of(R"({"memory": "4GB"})"), StartsWith("memory: invalid size '4GB'"));
  EXPECT_THAT(error_of(R"({"memory": 1})"), StartsWith("memory: must be a size from 1048576"));
  EXPECT_THAT(error_of(R"({"labels": {"Team": "x"}})"), StartsWith("labels.Team: "));
  EXPECT_THAT(error_of(R"({"hold": 1})"), StartsWith("hold: must be true or false, not 1"));
  EXPECT_THAT(error_of(R"({"probe": "tcp"})"), StartsWith("probe: a probe must be an object"));
  for (const char* host : {"1.2.3", "localhost", "::g", "1.2.3.4.5", "fe"}) {
    EXPECT_THAT(error_of(cat(R"({"kind": "service", "endpoint": {"host": ")", host, "\"}}")),
                StartsWith("endpoint.host: must be an IP address"))
        << host;
  }
}

TEST(JobRequestJson, RejectsContradictions) {
  EXPECT_THAT(error_of(R"({"gpu_memory": "8GiB"})"),
              StartsWith("gpu_memory: cannot be combined with profile"));
  EXPECT_THAT(error_of(R"({"profile": null})"), StartsWith("profile: is missing"));
  EXPECT_THAT(error_of(R"({"port": 80})"), StartsWith("port: is for services only"));
  EXPECT_THAT(error_of(R"({"probe": {"kind": "tcp"}})"), StartsWith("probe: is for services only"));
  EXPECT_THAT(error_of(R"({"kind": "service", "probe": {"kind": "tcp", "path": "/"}})"),
              StartsWith("probe.path: is for probes of kind \"http\""));
  EXPECT_THAT(error_of(R"({"kind": "service", "probe": {"kind": "command"}})"),
              StartsWith("probe.command: is missing"));
  EXPECT_THAT(error_of(R"({"kind": "service", "probe": {"kind": "http", "path": "x"}})"),
              StartsWith("probe.path: must begin with"));
  EXPECT_THAT(error_of(R"({"kind": "service", "probe": {"kind": "tcp", "interval": "1ms"}})"),
              StartsWith("probe.interval: must be a duration from 10ms to 1h"));
  EXPECT_THAT(error_of(R"({"kind": "service", "probe": {"kind": "tcp", "intervall": "1s"}})"),
              StartsWith("probe.intervall: unknown key of a probe; did you mean 'interval'?"));
}

TEST(JobRequestJson, RejectsTooMuch) {
  const auto with = [](const char* key, const json::value& value) {
    json::object job = smallest();
    job[key] = value;
    const auto read = read_job_request(job);
    return read ? "" : read.error().message;
  };
  EXPECT_THAT(with("command", json::array(4097, "x")), HasSubstr("4097 entries; at most 4096"));
  EXPECT_THAT(with("command", json::array(12, json::value(std::string(100'000, 'x')))),
              HasSubstr("bytes in all"));
  EXPECT_THAT(with("command", json::array{"x", json::value(std::string(131'072, 'x'))}),
              StartsWith("command[1]: is longer than"));
  EXPECT_THAT(with("name", json::value(std::string(129, 'x'))), StartsWith("name: "));
  EXPECT_EQ(with("name", json::value(std::string(128, 'x'))), "");
  json::object many;
  for (int i = 0; i < 65; ++i) many[std::to_string(i)] = "x";
  EXPECT_THAT(with("labels", many), HasSubstr("65 entries; at most 64"));
  EXPECT_THAT(read_job_request(json::array{}).error().message,
              HasSubstr("a job must be an object"));
}

TEST(JobName, IsTheProgramsUnlessOneIsGiven) {
  JobRequest request;
  request.command = {"/usr/bin/python3", "train.py"};
  EXPECT_EQ(job_name(request), "python3");
  request.name = "train";
  EXPECT_EQ(job_name(request), "train");
}

// A name derived from the program obeys the same limits as one that the user gives.
TEST(JobName, DerivedFromTheProgramIsPrintableAndBounded) {
  JobRequest request;
  request.command = {std::string(131'000, 'x')};
  EXPECT_EQ(job_name(request), std::string(128, 'x'));
  request.command = {"bin/a\x01\x1b[31m"};
  EXPECT_EQ(job_name(request), "a\\x01\\x1b[31m");
  std::string wide;
  for (int i = 0; i < 200; ++i) wide += "é";
  request.command = {wide};
  EXPECT_EQ(job_name(request), wide.substr(0, 256));
  request.command = {"/bin/"};
  EXPECT_EQ(job_name(request), "");
}

TEST(JobRequest, OutputFilesMayContainTheJobsId) {
  EXPECT_EQ(output_path("a-%j.out", 17), "a-17.out");
  EXPECT_EQ(output_path("/x/100%%/%j%j", 3), "/x/100%/33");
  for (const char* wrong : {"%x", "a%", "%J", "% j"}) {
    const auto error = error_of(cat(R"({"output": ")", wrong, R"("})"));
    EXPECT_THAT(error, StartsWith("output: use %j")) << wrong;
    EXPECT_THAT(error_of(cat(R"({"error": ")", wrong, R"("})")), StartsWith("error: use %j"));
  }
}

}  // namespace
}  // namespace tangram::api
