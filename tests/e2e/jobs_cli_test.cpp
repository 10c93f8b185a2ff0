// `tangram submit`, `run`, `ps`, `show`, `logs`, `wait`, `cancel`, `gpus` and `status`: the real
// program against a stub daemon (API handlers only) in this process.
#include <csignal>
#include <spawn.h>
#include <sys/wait.h>
#include <thread>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "cli_check.hpp"
#include "tests/support/http/daemon.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;
using api::JobState;
using http::testing::append;
using http::testing::TestDaemon;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class JobsCli : public ::testing::Test {
 protected:
  Ended run(const Words& words) {
    return tangram_run(words, "", {"TANGRAM_SOCKET=" + daemon_.socket(), "TZ=UTC"});
  }
  std::string ok(const Words& words) {
    const Ended ended = run(words);
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_EQ(ended.err, "");
    return ended.out;
  }
  std::string refused(const Words& words, int code = 2) {
    const Ended ended = run(words);
    EXPECT_EQ(ended.code, code) << ended.out;
    EXPECT_EQ(ended.out, "");
    EXPECT_THAT(ended.err, StartsWith("tangram: "));
    return ended.err;
  }
  std::uint64_t add(const std::string& name, JobState state) {
    api::JobView view;
    view.request.name = name;
    view.profile = "1g.5gb";
    view.user = "ann";
    view.state = state;
    view.submitted = api::WallTime(std::chrono::hours(490'000));
    return daemon_.add(view);
  }
  // Submitted jobs run at once, print `out` and `err` and end with `code` or `signal`.
  void jobs_end_with(const std::string& out, const std::string& err, std::optional<int> code,
                     std::optional<int> signal = std::nullopt) {
    daemon_.on_submit = [=, this](TestDaemon::Job& job) {
      const auto folder = daemon_.folder() / "run";
      std::filesystem::create_directories(folder);
      append(folder / "stdout.log", out);
      append(folder / "stderr.log", err);
      job.logs = {{folder.string()}, true};
      job.view.state = code == 0 ? JobState::kCompleted : JobState::kFailed;
      job.view.exit_code = code;
      job.view.exit_signal = signal;
    };
  }

  TestDaemon daemon_;
};

TEST_F(JobsCli, SubmitSendsTheOptions) {
  EXPECT_EQ(ok({"submit", "-p",          "2g.10gb", "--name",       "t",           "--label",
                "a=b",    "--env",       "X=1",     "--time-limit", "1h",          "--cpus",
                "1.5",    "--memory",    "4GiB",    "--rlimit",     "nofile=1024", "--umask",
                "027",    "--directory", "/tmp",    "--restart",    "on-failure",  "--hold",
                "--pin",  "--",          "python",  "a b",          "--epochs",    "[1,2]",
                "--"}),
            "job 1 submitted\n");
  const api::JobRequest r = daemon_.job(1).view.request;
  EXPECT_THAT(r.command, ElementsAre("python", "a b", "--epochs", "[1,2]", "--"));
  EXPECT_EQ(r.profile, "2g.10gb");
  EXPECT_EQ(r.environment.at("X"), "1");
  EXPECT_EQ(r.environment.at("TERM"), "xterm");  // the caller's
  EXPECT_FALSE(r.environment.contains("TANGRAM_SOCKET"));
  EXPECT_EQ(r.labels.at("a"), "b");
  EXPECT_EQ(r.time_limit, std::chrono::hours(1));
  EXPECT_EQ(r.cpu_percent, 150U);
  EXPECT_EQ(r.memory_bytes, std::uint64_t{4} << 30U);
  EXPECT_EQ(r.resource_limits.at("nofile").soft, 1024U);
  EXPECT_EQ(r.umask, 027U);
  EXPECT_EQ(r.directory, "/tmp");
  EXPECT_EQ(r.restart, api::Restart::kOnFailure);
  EXPECT_EQ(r.move.way, api::MoveMethod::kNever);
  EXPECT_TRUE(r.hold);
  EXPECT_EQ(json::parse(ok({"submit", "--gpu-memory", "8GiB", "--clean-env", "--json", "true"})),
            (json::value{{"id", 2}, {"move", "never"}}));
  EXPECT_TRUE(daemon_.job(2).view.request.environment.empty());
}

TEST_F(JobsCli, SubmitDescribesAService) {
  ok({"submit", "-p", "1g.5gb", "--service", "--port", "8000", "--probe", "http:/health",
      "--probe-interval", "1s", "--env", "TERM", "--clean-env", "--", "serve"});
  const api::JobRequest r = daemon_.job(1).view.request;
  EXPECT_EQ(r.kind, api::JobKind::kService);
  EXPECT_EQ(r.port, 8000);
  EXPECT_EQ(r.probe.kind, api::Probe::Kind::kHttp);
  EXPECT_EQ(r.probe.path, "/health");
  EXPECT_EQ(r.probe.interval, std::chrono::seconds(1));
  EXPECT_EQ(r.environment.size(), 1U);
}

TEST_F(JobsCli, SubmitSetsEndpointLimits) {
  ok({"submit", "-p", "1g.5gb", "--service", "--endpoint-option", "idle=none", "--endpoint-option",
      "most_connections=9", "--", "serve"});
  api::EndpointLimits limits;
  limits.idle = std::chrono::milliseconds(0);
  limits.most_connections = 9;
  EXPECT_EQ(daemon_.job(1).view.request.endpoint.limits, limits);
}

TEST_F(JobsCli, SubmitSetsEndpointAndMoveOptions) {
  ok({"submit", "-p", "1g.5gb", "--service", "--probe", "tcp", "--endpoint", "http", "--host",
      "0.0.0.0", "--forwarded", "--drain", "5s", "--move", "replica", "--", "serve"});
  const api::JobRequest service = daemon_.job(1).view.request;
  EXPECT_EQ(service.endpoint.mode, api::EndpointMode::kHttp);
  EXPECT_EQ(service.endpoint.host, "0.0.0.0");
  EXPECT_TRUE(service.endpoint.forwarded);
  EXPECT_EQ(service.endpoint.drain, std::chrono::seconds(5));
  EXPECT_EQ(service.move.way, api::MoveMethod::kReplica);
  ok({"submit", "-p", "1g.5gb", "--move", "checkpoint", "--move-signal", "USR2", "--move-deadline",
      "2m", "--", "train"});
  const api::MoveOptions move = daemon_.job(2).view.request.move;
  EXPECT_EQ(move.way, api::MoveMethod::kCheckpoint);
  EXPECT_EQ(move.signal, SIGUSR2);
  EXPECT_EQ(move.deadline, std::chrono::minutes(2));
  EXPECT_THAT(refused({"submit", "-p", "1g.5gb", "--move", "replica", "--", "x"}),
              HasSubstr("--move: \"replica\" is for services"));
  EXPECT_THAT(refused({"submit", "-p", "1g.5gb", "--pin", "--move", "never", "--", "x"}),
              HasSubstr("--pin"));
  ok({"submit", "-p", "1g.5gb", "--service", "--stateless", "serve"});
  EXPECT_EQ(daemon_.job(3).view.request.move.way, api::MoveMethod::kReplica);
  EXPECT_THAT(refused({"submit", "-p", "1g.5gb", "--stateless", "--pin", "x"}),
              HasSubstr("--stateless"));
  EXPECT_THAT(refused({"submit", "-p", "1g.5gb", "--stateless", "x"}),
              HasSubstr("--stateless is for services"));
}

// Words that Tangram has options for belong to the command behind its first word.
TEST_F(JobsCli, OptionsEndAtTheCommand) {
  ok({"submit", "-p", "1g.5gb", "python3", "train.py", "--name", "run7", "--restart",
      "on-failure"});
  api::JobRequest sent = daemon_.job(1).view.request;
  EXPECT_THAT(sent.command,
              ElementsAre("python3", "train.py", "--name", "run7", "--restart", "on-failure"));
  EXPECT_EQ(sent.restart, api::Restart::kNever);
  ok({"submit", "-p", "1g.5gb", "--service", "--probe", "http:/", "./serve", "--port", "8000"});
  sent = daemon_.job(2).view.request;
  EXPECT_THAT(sent.command, ElementsAre("./serve", "--port", "8000"));
  EXPECT_EQ(sent.port, std::nullopt);
  ok({"submit", "-p", "1g.5gb", "--name=n", "git", "log", "--", "-p"});
  sent = daemon_.job(3).view.request;
  EXPECT_THAT(sent.command, ElementsAre("git", "log", "--", "-p"));
  EXPECT_EQ(sent.name, "n");
  ok({"submit", "-p", "1g.5gb", "--", "--odd", "--", "x"});
  EXPECT_THAT(daemon_.job(4).view.request.command, ElementsAre("--odd", "--", "x"));
  ok({"submit", "-p", "1g.5gb", "ls", "--help"});
  EXPECT_THAT(daemon_.job(5).view.request.command, ElementsAre("ls", "--help"));
  EXPECT_THAT(refused({"submit", "./serve", "-p", "1g.5gb"}),
              HasSubstr("before './serve': the words behind it are arguments of the command"));
}

TEST_F(JobsCli, SubmitReportsInvalidOptions) {
  EXPECT_THAT(refused({"submit", "--", "true"}), HasSubstr("use --profile (e.g. 2g.10gb)"));
  EXPECT_THAT(refused({"submit", "-p", "1g.5gb"}), HasSubstr("no command"));
  EXPECT_THAT(refused({"submit", "-p", "1g.5gb", "--port", "80", "--", "x"}),
              HasSubstr("port: is for services only"));
  EXPECT_THAT(refused({"submit", "-p", "1g.5gb", "--probe", "ping", "--", "x"}),
              HasSubstr("use tcp, http:/PATH or command:"));
  EXPECT_THAT(refused({"submit", "-p", "1g.5gb", "--env", "NOT_SET", "--", "x"}),
              HasSubstr("variable is not set here"));
  EXPECT_THAT(refused({"submit", "-p", "1g.5gb", "--grace", "soon", "--", "x"}),
              HasSubstr("invalid duration 'soon'"));
  EXPECT_THAT(refused({"submit", "-p", "9g.90gb", "--", "x"}), HasSubstr("no GPU has '9g.90gb'"));
  EXPECT_THAT(refused({"submit", "--profil", "1g.5gb", "--", "x"}), HasSubstr("--profile"));
}

TEST_F(JobsCli, ListsJobs) {
  EXPECT_THAT(ok({"ps"}), StartsWith("No active jobs."));
  add("train", JobState::kRunning);
  add("train", JobState::kQueued);
  add("old", JobState::kFailed);
  EXPECT_EQ(ok({"ps", "-q"}), "1\n2\n");
  EXPECT_EQ(ok({"ps", "-q", "--all"}), "1\n2\n3\n");
  EXPECT_EQ(ok({"ps", "-q", "--state", "failed"}), "3\n");
  EXPECT_EQ(ok({"ps", "-q", "--name", "train"}), "1\n2\n");
  EXPECT_THAT(ok({"ps", "-a"}), AllOf(HasSubstr("train"), HasSubstr("running"), HasSubstr("ann")));
  const json::value list = json::parse(ok({"ps", "--all", "--json"}));
  ASSERT_EQ(list.as_array().size(), 3U);
  EXPECT_EQ(list.at(0).at("id"), 1);
  EXPECT_EQ(list.at(0).at("name"), "train");
  EXPECT_TRUE(list.at(0).at("exit_code").is_null());
  EXPECT_THAT(refused({"ps", "--state", "asleep"}), HasSubstr("unknown value 'asleep'"));
}

TEST_F(JobsCli, ShowsAJob) {
  add("train", JobState::kQueued);
  daemon_.change(1, [](TestDaemon::Job& job) {
    job.view.reason = "no GPU has room\x1b[31m";
    job.view.request.command = {"python", "it's"};
  });
  const std::string text = ok({"show", "1"});
  EXPECT_THAT(text, AllOf(StartsWith("job 1  train  queued\n"),
                          HasSubstr("no GPU has room\\x1b[31m"), HasSubstr("python 'it'\\''s'")));
  EXPECT_EQ(json::parse(ok({"show", "1", "--json"})).at("state"), "queued");
  EXPECT_EQ(refused({"show", "7"}), "tangram: job 7: not found\n");
  add("train", JobState::kCompleted);
  EXPECT_EQ(refused({"show", "train"}),
            "tangram: 'train' is not a job ID; names are not unique. This name belongs to jobs 1 "
            "and 2.\n");
  EXPECT_THAT(refused({"show", "unknown"}), HasSubstr("no job has this name"));
}

TEST_F(JobsCli, ShowsTheAddressAndThePlacesOfAService) {
  add("serve", JobState::kRunning);
  daemon_.change(1, [](TestDaemon::Job& job) {
    job.view.request.kind = api::JobKind::kService;
    job.view.request.probe.kind = api::Probe::Kind::kTcp;
    job.view.address = "127.0.0.1:8000";
    const api::WallTime begin(std::chrono::hours(490'000));
    job.view.places = {
        {1, 0, 6, "1g.5gb", "", "placed", "", "", 0, 0, begin, begin + std::chrono::hours(1)},
        {{}, 0, 2, "1g.5gb", "", "asked", "rolled-back", "no room.", 0, 0, {}, {}},
        {2, 1, 4, "1g.5gb", "", "asked", "done", "", 7, 3, begin, {}},
    };
  });
  EXPECT_THAT(
      ok({"show", "1"}),
      AllOf(
          HasSubstr("  address    127.0.0.1:8000\n"), HasSubstr("  moves      by replica\n"),
          HasSubstr("\n\nPLACES\n"
                    "  RUN  PLACE  HOW     SINCE                UNTIL                RESULT\n"
                    "    1  0@6    placed  2025-11-24 16:00:00  2025-11-24 17:00:00\n"
                    "    -  0@2    manual  -                    -                    rolled-back\n"
                    "    2  1@4    manual  2025-11-24 16:00:00  -                    done, 3 cut\n"
                    "  0@2: no room.\n")));
  daemon_.change(1, [](TestDaemon::Job& job) {
    job.view.request.move.way = api::MoveMethod::kNever;
    job.view.places.clear();
  });
  EXPECT_THAT(ok({"show", "1"}),
              AllOf(HasSubstr("moves      never"), ::testing::Not(HasSubstr("PLACE"))));
  daemon_.change(1, [](TestDaemon::Job& job) {
    job.view.request.kind = api::JobKind::kBatch;
    job.view.request.probe = {};
    job.view.request.move = {.way = api::MoveMethod::kCheckpoint};
  });
  EXPECT_THAT(ok({"show", "1"}), HasSubstr("by checkpoint on SIGUSR1, within 1m"));
}

TEST_F(JobsCli, PrintsLogs) {
  add("train", JobState::kRunning);
  const auto folder = daemon_.add_run(1);
  append(folder / "stdout.log", "a\nb\nc\n");
  append(folder / "stderr.log", "oh\n");
  EXPECT_EQ(ok({"logs", "1"}), "a\nb\nc\n");
  EXPECT_EQ(ok({"logs", "1", "--tail", "2"}), "b\nc\n");
  EXPECT_EQ(ok({"logs", "1", "--stderr"}), "oh\n");
  std::thread later([&] {
    while (daemon_.waiting(1) == 0) std::this_thread::yield();
    append(folder / "stdout.log", "d\n");
    daemon_.finish(1, JobState::kCompleted, 0);
  });
  EXPECT_EQ(ok({"logs", "-f", "1"}), "a\nb\nc\nd\n");
  later.join();
}

TEST_F(JobsCli, Waits) {
  for (const char* name : {"a", "b", "c"}) add(name, JobState::kRunning);
  daemon_.finish(1, JobState::kCompleted, 0);
  daemon_.finish(2, JobState::kFailed, 3);
  EXPECT_EQ(run({"wait", "1"}).code, 0);
  EXPECT_EQ(run({"wait", "1", "2"}).code, 3);
  EXPECT_EQ(run({"wait", "3", "--timeout", "50ms"}).code, 124);
  daemon_.change(3, [](TestDaemon::Job& job) {
    job.view.state = JobState::kFailed;
    job.view.exit_signal = SIGKILL;
  });
  EXPECT_EQ(run({"wait", "3"}).code, 137);
  EXPECT_THAT(refused({"wait", "3", "--timeout", "x"}, 125), HasSubstr("--timeout"));
}

TEST_F(JobsCli, Cancels) {
  add("a", JobState::kRunning);
  add("b", JobState::kQueued);
  EXPECT_EQ(ok({"cancel", "1", "2"}), "job 1 is cancelled\njob 2 is cancelled\n");
  EXPECT_EQ(refused({"cancel", "9"}), "tangram: job 9: not found\n");
}

TEST_F(JobsCli, ReportsTheOutcomeForEachOfSeveralJobs) {
  add("a", JobState::kRunning);
  add("b", JobState::kQueued);
  const Ended mixed = run({"cancel", "8", "1", "9", "2"});
  EXPECT_EQ(mixed.code, 2);
  EXPECT_EQ(mixed.out, "job 1 is cancelled\njob 2 is cancelled\n");
  EXPECT_EQ(mixed.err, "tangram: job 8: not found\ntangram: job 9: not found\n");
  const Ended shown = run({"show", "1", "9", "--json"});
  EXPECT_EQ(shown.code, 2);
  EXPECT_EQ(json::parse(shown.out).as_array().size(), 1U);
  EXPECT_EQ(shown.err, "tangram: job 9: not found\n");
}

TEST_F(JobsCli, RunDeliversOutputAndExitCode) {
  jobs_end_with("out\n", "err\n", 3);
  const Ended ended = run({"run", "-p", "1g.5gb", "--", "x", "--flag"});
  EXPECT_EQ(ended.code, 3);
  EXPECT_EQ(ended.out, "out\n");
  EXPECT_EQ(ended.err, "err\n");
  jobs_end_with("", "", std::nullopt, SIGTERM);
  const Ended by_signal = run({"run", "-p", "1g.5gb", "--", "x"});
  EXPECT_EQ(by_signal.code, 143);
  EXPECT_THAT(by_signal.err, HasSubstr("SIGTERM"));
}

TEST_F(JobsCli, RunReportsItsOwnFailuresWithCode125) {
  EXPECT_THAT(refused({"run", "-p", "9g.90gb", "--", "x"}, 125), HasSubstr("no GPU has"));
  const Ended no_daemon =
      tangram_run({"run", "-p", "1g.5gb", "--socket", "/nonexistent/s", "--", "x"});
  EXPECT_EQ(no_daemon.code, 125);
  EXPECT_THAT(no_daemon.err, HasSubstr("cannot reach tangramd at /nonexistent/s: No such file"));
  daemon_.on_submit = [](TestDaemon::Job& job) {
    job.view.state = JobState::kFailed;
    job.view.reason = "cannot execute 'x'";
    job.logs.is_complete = true;
  };
  const Ended failed = run({"run", "-p", "1g.5gb", "--", "x"});
  EXPECT_EQ(failed.code, 125);
  EXPECT_THAT(failed.err, HasSubstr("job 1 failed: cannot execute 'x'"));
}

TEST_F(JobsCli, RunReportsWhyTheJobWaits) {
  daemon_.on_submit = [](TestDaemon::Job& job) { job.view.reason = "all GPUs are taken"; };
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2'000));
    daemon_.finish(1, JobState::kCompleted, 0);
  });
  const Ended ended = run({"run", "-p", "1g.5gb", "--", "x"});
  later.join();
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.err, "tangram: job 1 is queued: all GPUs are taken\n");
}

// The daemon restarts in the middle of the output: nothing is lost or repeated.
TEST_F(JobsCli, RunSurvivesARestartOfTheDaemon) {
  std::string written;
  std::thread work([&] {
    while (daemon_.size() == 0) std::this_thread::yield();
    const auto folder = daemon_.add_run(1);
    daemon_.change(1, [](TestDaemon::Job& job) { job.view.state = JobState::kRunning; });
    for (int i = 0; i < 3'000; ++i) {
      const std::string line = cat("line ", i, "\n");
      append(folder / "stdout.log", line);
      written += line;
      if (i % 1'000 != 500) continue;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      daemon_.close();
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      daemon_.open();
    }
    daemon_.finish(1, JobState::kCompleted, 0);
  });
  const Ended ended = run({"run", "-p", "1g.5gb", "--", "x"});
  work.join();
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.out, written);
  EXPECT_EQ(ended.err, "");
}

TEST_F(JobsCli, RunForwardsSignals) {
  std::vector<std::string> words = {TANGRAM_BINARY,   "run", "-p", "1g.5gb", "--socket",
                                    daemon_.socket(), "--",  "x"};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  ASSERT_EQ(::posix_spawn(&child, TANGRAM_BINARY, nullptr, nullptr, arguments.data(), environ), 0);
  while (daemon_.size() == 0 || daemon_.waiting(1) < 4) std::this_thread::yield();
  daemon_.change(1, [](TestDaemon::Job& job) { job.view.state = JobState::kRunning; });
  const auto signals = [&] { return daemon_.job(1).signals; };
  std::size_t sent = 0;
  for (const int signal : {SIGUSR1, SIGINT, SIGINT}) {
    ::kill(child, signal);
    for (++sent; signals().size() < sent;) std::this_thread::yield();
  }
  EXPECT_THAT(signals(), ElementsAre(SIGUSR1, SIGINT, SIGKILL));
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);  // cancelled by the second interrupt
  EXPECT_EQ(WEXITSTATUS(status), 125);
}

TEST_F(JobsCli, DrawsTheGpus) {
  api::GpuView gpu;
  gpu.model = "A100-40GB";
  gpu.health = "ok";
  gpu.memory_slices = 8;
  gpu.load = 0.5;
  gpu.busy = true;
  gpu.frag_cost = 0.25;
  gpu.instances = {{"3g.20gb", 0, 4, "held", 17, "train", "MIG-1"},
                   {"1g.5gb", 4, 1, "idle", {}, "", "MIG-2"},
                   {"1g.5gb", 6, 1, "foreign", {}, "", ""}};
  daemon_.gpus = {gpu};
  EXPECT_EQ(ok({"gpus", "--ascii"}),
            "GPU 0  A100-40GB  Busy  load 0.50  FragCost 0.250\n"
            "  |            3g.20gb #17            |1g idle |   .    |foreign |   .    :\n");
  EXPECT_EQ(json::parse(ok({"gpus", "--json"})).at(0).at("instances").at(0).at("job"), 17);
}

TEST_F(JobsCli, ShowsTheStatus) {
  daemon_.status.version = "9.9";
  daemon_.status.running = 3;
  daemon_.status.store = "ok";
  daemon_.status.troubles = {"GPU 1 does not answer."};
  daemon_.status.profiles = {{"1g.5gb", 4864, 7}};
  EXPECT_THAT(ok({"status"}), AllOf(StartsWith("tangramd 9.9"), HasSubstr("3 running"),
                                    HasSubstr("1g.5gb"), HasSubstr("GPU 1 does not answer.")));
  EXPECT_EQ(json::parse(ok({"status", "--json"})).at("version"), "9.9");
}

TEST_F(JobsCli, ReportsAMissingDaemon) {
  daemon_.close();
  EXPECT_THAT(refused({"ps"}, 1),
              AllOf(HasSubstr("cannot reach tangramd at " + daemon_.socket()),
                    HasSubstr("Is it running? Start it (`systemctl start tangramd`"),
                    HasSubstr("--socket")));
}

}  // namespace
}  // namespace tangram::tests
