// The configuration: the packaged file is the defaults, and every error names its line.
#include "daemon/config/config.hpp"

#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "base/text.hpp"

namespace tangram::daemon {
namespace {

std::string packaged() {
  std::ifstream file(TANGRAM_SOURCE_DIR "/packaging/tangram.toml");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The packaged file with the keys that it has as comments ("#queue = …").
std::string packaged_with_all_keys() {
  return std::regex_replace(packaged(), std::regex("(^|\n)#([a-z_]+ = )"), "$1$2");
}

using Keys = std::set<std::string>;  // "jobs.grace"

// The keys in `text`, which has one per line. With `comment`: only those whose comment starts so.
Keys keys_in(const std::string& text, const std::string& comment = "") {
  Keys keys;
  std::string section;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('[')) section = line.substr(1, line.find(']') - 1);
    const auto equals = line.find(" = ");
    if (line.starts_with('#') || equals == std::string::npos) continue;
    if (!comment.empty() && line.find("# " + comment) == std::string::npos) continue;
    keys.insert(section + "." + line.substr(0, equals));
  }
  return keys;
}

// The keys that a section accepts, or the sections, from the error about one that is unknown.
std::vector<std::string> accepted_in(const std::string& wrong) {
  const auto config = parse_config(wrong, "t");
  EXPECT_FALSE(config) << wrong;
  if (config) return {};
  const std::string& message = config.error().message;
  const std::string_view mark = " has the keys ";
  const auto begin = message.find(mark);
  EXPECT_NE(begin, std::string::npos) << message;
  if (begin == std::string::npos) return {};
  std::string list = message.substr(begin + mark.size());
  list = std::regex_replace(list.substr(0, list.find('.')), std::regex(",| and "), " ");
  std::istringstream words(list);
  return {std::istream_iterator<std::string>(words), {}};
}

Keys all_keys() {
  Keys keys;
  for (const std::string& section : accepted_in("qqqqqqqq = 1\n")) {
    for (const std::string& key : accepted_in("[" + section + "]\nqqqqqqqq = 1\n")) {
      if (key != "users" && key != "groups") keys.insert(section + "." + key);  // tables
    }
  }
  return keys;
}

TEST(Config, ThePackagedFileHasEveryKeyAndNoOther) {
  EXPECT_GT(all_keys().size(), 40U);
  EXPECT_EQ(keys_in(packaged_with_all_keys()), all_keys());
}

TEST(Config, ThePackagedFileIsTheDefaults) {
  const auto config = parse_config(packaged_with_all_keys(), "tangram.toml");
  ASSERT_TRUE(config) << config.error().message;
  const Config defaults;
  EXPECT_EQ(config->tuning, defaults.tuning);
  EXPECT_EQ(config->fatal_xids, defaults.fatal_xids);
  EXPECT_EQ(config->limits, defaults.limits);
  EXPECT_EQ(config->admins, defaults.admins);
  EXPECT_EQ(config->only_admins_submit, defaults.only_admins_submit);
  EXPECT_EQ(config->tcp.certificate, defaults.tcp.certificate);
  EXPECT_EQ(config->move_services, defaults.move_services);
  EXPECT_EQ(config->grace, defaults.grace);
  EXPECT_EQ(config->linger, defaults.linger);
  EXPECT_EQ(config->start_time, defaults.start_time);
  EXPECT_EQ(config->log_bytes, defaults.log_bytes);
  EXPECT_EQ(config->log_files, defaults.log_files);
  EXPECT_EQ(config->first_port, defaults.first_port);
  EXPECT_EQ(config->last_port, defaults.last_port);
  EXPECT_EQ(config->endpoints, defaults.endpoints);
  EXPECT_EQ(config->log_level, defaults.log_level);
  EXPECT_EQ(config->retention.jobs, defaults.retention.jobs);
  EXPECT_EQ(config->retention.most_jobs, defaults.retention.most_jobs);
  EXPECT_EQ(config->retention.most_steps, defaults.retention.most_steps);
  EXPECT_EQ(needs_restart(*config, defaults), std::vector<std::string>());
}

// An operator who installs it and runs `tangram tune` is not overruled by a later version.
TEST(Config, ThePackagedFileSetsNoTuning) {
  const auto config = parse_config(packaged(), "tangram.toml");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->tuning_in_file, api::TuningChange{});
}

TEST(Config, OnlyWrittenKeysAreInTheFile) {
  EXPECT_EQ(Config().tuning_in_file, api::TuningChange{});
  EXPECT_EQ(parse_config("", "t")->tuning_in_file, api::TuningChange{});
  const auto config = parse_config("[scheduler]\nthreshold = \"0.4\"\nmost_moves = 2\n", "t");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->tuning_in_file, (api::TuningChange{.threshold = "0.4", .most_moves = 2}));
  EXPECT_EQ(config->tuning.queue, default_tuning().queue);
}

constexpr const char* kEveryKey = R"(
[daemon]
state_dir = "/s"
socket = "/k"
socket_mode = "0600"
[tcp]
listen = "127.0.0.1:7443"
certificate = "/c.pem"
key = "/k.pem"
[access]
admins = "wheel"
submit = "admins"
connections_per_user = 7
slices_per_user = 7
jobs_per_user = 20
held_jobs_per_user = 6
array_tasks = 44
submissions_per_second = 5
request_bytes_per_user = "2MiB"
log_bytes_per_user = "3GiB"
max_priority = -5
[log]
level = "debug"
format = "json"
audit = "/a.log"
[device]
nvml = "/lib/x.so"
emulate = "1xA30"
enable_mig = "all"
mig_gpus = ["GPU-1"]
change_time = "5s"
in_use_time = "2s"
observe_every = "1s"
fatal_xids = [79]
[scheduler]
threshold = "0.25"
placement = "best-fit"
migration = "off"
queue = "largest-profile"
most_moves = 2
cooldown = "10s"
gain = "0.05"
window = "22:00-06:00"
protect_head = false
max_passes = 3
ageing = "30m"
half_life = "2d"
[leases]
linger = "30s"
[jobs]
move_services = "replica"
default_time_limit = "4h"
max_time_limit = "2d"
grace = "1s"
start_time = "3s"
log_size = "1MiB"
log_files = 2
first_port = 5000
last_port = 5001
lost_found_days = 7
pids_limit = 512
pam = true
cgroup = "off"
[endpoints]
host = "0.0.0.0"
first_port = 6000
last_port = 6001
wait = "1m"
connect = "1s"
keep_alive = "15s"
idle = "none"
most_connections = 100
[hooks]
command = ["/usr/bin/notify", "--to", "ops room"]
url = "https://example.org:8443/jobs?x=1"
ca_file = "/ca.pem"
[history]
jobs = "48h"
most_jobs = 10
most_steps = 5000
)";

TEST(Config, ADefaultTimeLimitAboveTheMaximumIsAnError) {
  const auto config =
      parse_config("[jobs]\ndefault_time_limit = \"2h\"\nmax_time_limit = \"1h\"\n", "t");
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().message, "t:2:22: default_time_limit: is 2h, above max_time_limit (1h)");
  EXPECT_FALSE(parse_config("[jobs]\nmax_time_limit = \"5ms\"\n", "t"));
}

TEST(Config, LimitsOfGroupsAndUsersAreRead) {
  const auto config = parse_config(R"(
[access.groups.students]
slices = 28
jobs = 100
held_jobs = 50
slices_per_user = 4
jobs_per_user = 10
held_jobs_per_user = 5
max_time_limit = "8h"
max_priority = 10
[access.users.ann]
slices = 0
jobs = 11
held_jobs = 12
max_time_limit = "none"
max_priority = -10
)",
                                   "t");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->limits.groups.at("students"),
            (GroupLimits{.slices = 28,
                         .jobs = 100,
                         .held_jobs = 50,
                         .each = {.slices = 4,
                                  .jobs = 10,
                                  .held_jobs = 5,
                                  .max_time = std::chrono::hours(8),
                                  .max_priority = 10}}));
  EXPECT_EQ(config->limits.users.at("ann"),
            (LimitOverrides{.slices = 0,
                            .jobs = 11,
                            .held_jobs = 12,
                            .max_time = std::chrono::milliseconds(0),
                            .max_priority = -10}));
}

TEST(Config, HooksAreProgramsByPathAndHttpsUrls) {
  const auto error = [](const char* text) {
    const auto config = parse_config(text, "t");
    return config ? "" : config.error().message;
  };
  EXPECT_NE(error("[hooks]\ncommand = [\"notify\"]\n").find("is not an absolute path"),
            std::string::npos);
  EXPECT_NE(error("[hooks]\ncommand = \"/bin/sh\"\n"), "");
  for (const char* url : {"http://example.org/", "https://", "example.org", "https://a b/"}) {
    EXPECT_NE(error(cat("[hooks]\nurl = \"", url, "\"\n").c_str()).find("invalid URL"),
              std::string::npos)
        << url;
  }
  EXPECT_EQ(split_url("https://example.org")->server, "https://example.org:443");
  EXPECT_EQ(split_url("https://example.org")->target, "/");
  EXPECT_EQ(split_url("https://[::1]:8443/a/b?c")->server, "https://[::1]:8443");
  EXPECT_EQ(split_url("https://[::1]/a/b?c")->target, "/a/b?c");
}

TEST(Config, UnknownKeysOfGroupsAndUsersAreErrors) {
  const auto error = [](const char* text) {
    const auto config = parse_config(text, "t");
    return config ? "" : config.error().message;
  };
  EXPECT_EQ(error("[access.users.ann]\nslice = 3\n"),
            "t:2:1: unknown key 'slice'; did you mean slices? [users.ann] has the keys slices, "
            "jobs, held_jobs, max_time_limit and max_priority.");
  EXPECT_NE(error("[access.groups]\nstudents = 3\n"), "");
  EXPECT_NE(error("[access.groups.students]\nslices = -1\n"), "");
}

TEST(Config, EveryKeyIsRead) {
  ASSERT_EQ(keys_in(kEveryKey), all_keys());
  const auto config = parse_config(kEveryKey, "t");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->state_dir, "/s");
  EXPECT_EQ(config->socket, "/k");
  EXPECT_EQ(config->socket_mode, 0600U);
  EXPECT_EQ(config->tcp.listen, "127.0.0.1:7443");
  EXPECT_EQ(config->tcp.certificate, "/c.pem");
  EXPECT_EQ(config->tcp.key, "/k.pem");
  EXPECT_EQ(config->admins, "wheel");
  EXPECT_EQ(config->connections_per_user, 7U);
  EXPECT_EQ(config->limits, (UserLimits{.slices = 7,
                                        .jobs = 20,
                                        .held_jobs = 6,
                                        .array_tasks = 44,
                                        .submissions_per_second = 5,
                                        .request_bytes = 2U << 20U,
                                        .log_bytes = 3ULL << 30U,
                                        .max_priority = -5,
                                        .default_time = std::chrono::hours(4),
                                        .max_time = std::chrono::hours(48)}));
  EXPECT_EQ(config->log_level, "debug");
  EXPECT_EQ(config->audit, "/a.log");
  EXPECT_TRUE(config->log_json);
  EXPECT_EQ(config->library, "/lib/x.so");
  EXPECT_EQ(config->emulate, "1xA30");
  EXPECT_EQ(config->enable_mig, EnableMig::kAll);
  EXPECT_EQ(config->mig_gpus, std::set<std::string>{"GPU-1"});
  EXPECT_EQ(config->change_time, std::chrono::seconds(5));
  EXPECT_EQ(config->in_use_time, std::chrono::seconds(2));
  EXPECT_EQ(config->observe_every, std::chrono::seconds(1));
  EXPECT_EQ(config->fatal_xids, std::set<std::uint64_t>{79});
  EXPECT_EQ(config->tuning.threshold.text(), "0.25");
  EXPECT_EQ(config->tuning.placement, "best-fit");
  EXPECT_EQ(config->tuning.migration, "off");
  EXPECT_EQ(config->tuning.queue, "largest-profile");
  EXPECT_EQ(config->tuning.restraint.most_moves, 2U);
  EXPECT_EQ(config->tuning.restraint.cooldown, std::chrono::seconds(10));
  EXPECT_EQ(config->tuning.restraint.smallest_gain_ppm, 50'000);
  EXPECT_EQ(config->tuning.restraint.window.from_s, 22 * 3600);
  EXPECT_EQ(config->tuning.restraint.window.to_s, 6 * 3600);
  EXPECT_FALSE(config->tuning.restraint.protect_head);
  EXPECT_EQ(config->tuning.fairness, (core::Fairness{.max_passes = 3,
                                                     .ageing = std::chrono::minutes(30),
                                                     .half_life = std::chrono::hours(48)}));
  EXPECT_EQ(config->tuning_in_file, (api::TuningChange{.threshold = "0.25",
                                                       .placement = "best-fit",
                                                       .migration = "off",
                                                       .queue = "largest-profile",
                                                       .most_moves = 2,
                                                       .cooldown = std::chrono::seconds(10),
                                                       .gain = "0.05",
                                                       .window = "22:00-06:00",
                                                       .protect_head = false,
                                                       .max_passes = 3,
                                                       .ageing = std::chrono::minutes(30),
                                                       .half_life = std::chrono::hours(48)}));
  EXPECT_EQ(config->move_services, api::MoveMethod::kReplica);
  EXPECT_EQ(config->hooks, (HookOptions{.command = {"/usr/bin/notify", "--to", "ops room"},
                                        .url = "https://example.org:8443/jobs?x=1",
                                        .ca_file = "/ca.pem"}));
  EXPECT_EQ(config->grace, std::chrono::seconds(1));
  EXPECT_EQ(config->start_time, std::chrono::seconds(3));
  EXPECT_EQ(config->log_bytes, 1U << 20U);
  EXPECT_EQ(config->log_files, 2U);
  EXPECT_EQ(config->first_port, 5000);
  EXPECT_EQ(config->last_port, 5001);
  EXPECT_EQ(config->lost_found_days, 7U);
  EXPECT_EQ(config->cgroup, "off");
  EXPECT_EQ(config->pids_limit, 512U);
  EXPECT_TRUE(config->pam);
  EXPECT_EQ(config->endpoints, (EndpointDefaults{.host = "0.0.0.0",
                                                 .first_port = 6000,
                                                 .last_port = 6001,
                                                 .wait = std::chrono::minutes(1),
                                                 .connect = std::chrono::seconds(1),
                                                 .keep_alive = std::chrono::seconds(15),
                                                 .idle = std::chrono::milliseconds(0),
                                                 .most_connections = 100}));
  EXPECT_EQ(config->retention.jobs, std::chrono::hours(48));
  EXPECT_EQ(config->retention.most_jobs, 10U);
  EXPECT_EQ(config->retention.most_steps, 5000U);
}

// needs_restart() lists the keys that are marked "(restart)" in the packaged file.
TEST(Config, KeysThatNeedARestartAreMarked) {
  const auto config = parse_config(kEveryKey, "t");
  ASSERT_TRUE(config) << config.error().message;
  const auto keys = needs_restart(Config(), *config);
  EXPECT_EQ(Keys(keys.begin(), keys.end()), keys_in(packaged(), "(restart)"));
}

// Files of earlier versions.
TEST(Config, EnableMigMayBeTrueOrFalse) {
  EXPECT_EQ(parse_config("[device]\nenable_mig = true\n", "t")->enable_mig, EnableMig::kAll);
  EXPECT_EQ(parse_config("[device]\nenable_mig = false\n", "t")->enable_mig, EnableMig::kNever);
  EXPECT_EQ(parse_config("", "t")->enable_mig, EnableMig::kManaged);
}

TEST(Config, NoXidNeedBeFatal) {
  const auto config = parse_config("[device]\nfatal_xids = []\n", "t");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_TRUE(config->fatal_xids.empty());
}

struct InvalidFile {
  const char* text;
  const char* message;
};

class InvalidFiles : public testing::TestWithParam<InvalidFile> {};

TEST_P(InvalidFiles, AreRejectedWithTheirLine) {
  const auto config = parse_config(GetParam().text, "t.toml");
  ASSERT_FALSE(config);
  EXPECT_NE(config.error().message.find(GetParam().message), std::string::npos)
      << config.error().message;
  EXPECT_TRUE(config.error().message.starts_with("t.toml:")) << config.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    All, InvalidFiles,
    testing::Values(InvalidFile{"[tcp]\nlisten = \"0.0.0.0:7443\"\n", "certificate and key"},
                    InvalidFile{"[tcp]\nlisten = \"7443\"\n", "0.0.0.0:7443"},
                    InvalidFile{"[access]\nslices_per_user = -1\n", "slices_per_user"},
                    InvalidFile{"[demon]\n", "daemon"},
                    InvalidFile{"[daemon]\nsockt = \"x\"\n", "socket"},
                    InvalidFile{"[daemon]\nsocket_mode = \"999\"\n", "octal"},
                    InvalidFile{"[log]\nlevel = \"loud\"\n", "warn"},
                    InvalidFile{"[device]\nchange_time = \"soon\"\n", "change_time"},
                    InvalidFile{"[device]\nenable_mig = \"yes\"\n", "managed, all or never"},
                    InvalidFile{"[device]\nmig_gpus = [\"0\"]\n", "nvidia-smi -L"},
                    InvalidFile{"[jobs]\nmove_services = \"always\"\n", "never or replica"},
                    InvalidFile{"[scheduler]\nthreshold = \"2\"\n", "threshold"},
                    InvalidFile{"[scheduler]\nplacement = \"papr\"\n", "paper"},
                    InvalidFile{"[scheduler]\nwindow = \"25:00-06:00\"\n", "22:00-06:00"},
                    InvalidFile{"[jobs]\nlast_port = 5000\n", "first_port"},
                    InvalidFile{"[endpoints]\nwait = \"1ms\"\n", "wait: must be at least 10ms"},
                    InvalidFile{"[endpoints]\nidle = \"never\"\n", "idle"},
                    InvalidFile{"[endpoints]\nmost_connections = 0\n", "most_connections"},
                    InvalidFile{"[jobs]\nlog_size = \"many\"\n", "log_size"},
                    InvalidFile{"[jobs\n", "t.toml:1"}));

}  // namespace
}  // namespace tangram::daemon
