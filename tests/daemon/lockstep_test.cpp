// Runs the scheduler's scenario files against the daemon: emulated GPUs, real processes as jobs,
// and each input given only after the one before has had all its consequences; then the journal is
// replayed. Inputs are given from outside (a request, a process that exits, a driver fault), never
// as events; scenarios with an input that cannot be given so are skipped and counted.
#include <algorithm>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/text.hpp"
#include "core/job.hpp"
#include "core/tuning.hpp"
#include "node.hpp"
#include "scenario_inputs.hpp"
#include "store/replay.hpp"
#include "store/store.hpp"

namespace tangram::tests {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kDeadline{10'000};  // for all consequences of an input
constexpr std::chrono::milliseconds kQuiet{
    20};  // without a step: the input has had all its consequences
constexpr std::chrono::milliseconds kQuietAtTheEnd{60};
constexpr int kMinComplete = 33;  // scenarios; those with "fail next start" cannot be played
constexpr int kMinTruncated = 7;  // see make_playable()

// Sorts decisions by job, or by GPU for creations and destructions, and keeps their order within
// each: the order between them depends on when real processes and GPUs answer.
Lines by_subject(Lines lines) {
  const auto subject = [](const std::string& line) {
    const std::size_t job = line.find("job ");
    const std::size_t at = job == std::string::npos ? line.rfind("gpu ") : job;
    return at == std::string::npos ? line : line.substr(at, line.find_first_of(" :", at + 4) - at);
  };
  std::ranges::stable_sort(lines, {}, subject);
  return lines;
}

// The daemon's journal, read while it is written.
class Journal {
 public:
  explicit Journal(const std::string& path) {
    auto store = store::Store::open(path, {.read_only = true});
    EXPECT_TRUE(store) << (store ? "" : store.error().message);
    if (store) store_ = *std::move(store);
  }
  // Reads what was written since the last call. False: nothing.
  bool read_new() {
    if (!store_) return false;
    const auto steps = store_->steps(next_, 10'000);
    EXPECT_TRUE(steps) << (steps ? "" : steps.error().message);
    if (!steps || steps->empty()) return false;
    for (const store::Step& step : *steps) {
      next_ = step.sequence + 1;
      if (!std::holds_alternative<core::WakeUp>(step.event)) ++events;
      std::istringstream lines(step.decisions);
      for (std::string line; std::getline(lines, line);) {
        if (!is_wake(line)) decisions.push_back(line);
      }
    }
    return true;
  }
  // Waits until the input's consequences were written and nothing more for `quiet`, or kDeadline.
  void await(const ScenarioInput& input, std::chrono::milliseconds quiet) {
    const auto deadline = Clock::now() + kDeadline;
    auto last = Clock::now();
    while (Clock::now() < deadline) {
      if (read_new()) last = Clock::now();
      const bool enough = decisions.size() >= input.decisions.size() &&
                          (may_be_refused(input) || events >= input.events);
      if (enough && Clock::now() - last >= quiet) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  Lines decisions;
  std::size_t events = 0;  // without wake-ups

 private:
  std::unique_ptr<store::Store> store_;
  std::uint64_t next_ = 1;
};

void expect_replay(const Node& node) {
  const auto store = store::Store::open(node.state_dir() + "/tangram.db", {.read_only = true});
  ASSERT_TRUE(store) << store.error().message;
  const auto replayed = store::replay(**store);
  ASSERT_TRUE(replayed) << replayed.error().message;
  EXPECT_EQ(replayed->first, 1U);
}

// The [scheduler] section of the daemon's configuration, from a scenario's options; starts with
// core's defaults.
class Options {
 public:
  Options() {
    const core::Tuning tuning;
    const auto cooldown =
        std::chrono::duration_cast<std::chrono::seconds>(tuning.restraint.cooldown);
    values_ = {{"threshold", tuning.threshold.text()},
               {"placement", tuning.placement},
               {"migration", tuning.migration},
               {"queue", tuning.queue},
               {"most-moves", std::to_string(tuning.restraint.most_moves)},
               {"cooldown", cat(cooldown.count(), "s")},
               {"gain", "0"},
               {"protect-head", tuning.restraint.protect_head ? "on" : "off"}};
  }
  void set(const Lines& words, std::size_t from) {
    for (std::size_t i = from; i + 1 < words.size(); i += 2) values_.at(words[i]) = words[i + 1];
  }
  [[nodiscard]] std::string toml(const std::string& observe_every) const {
    // A GPU that falls off the bus also reports an Xid, which would cordon it.
    std::string text =
        cat("[device]\nfatal_xids = [48]\nobserve_every = \"", observe_every, "\"\n[scheduler]\n");
    for (auto [name, value] : values_) {
      std::string key = name;
      std::ranges::replace(key, '-', '_');
      const bool is_flag = key == "protect_head";
      if (is_flag) value = value == "on" ? "true" : "false";
      const bool is_bare = is_flag || key == "most_moves";
      text += is_bare ? cat(key, " = ", value, "\n") : cat(key, " = \"", value, "\"\n");
    }
    return text;
  }

 private:
  std::map<std::string, std::string> values_;
};

// One scenario, run on one node.
class ScenarioRun {
 public:
  explicit ScenarioRun(const ScenarioInputs& scenario) : scenario_(scenario) {
    const std::set<std::string> seen_by_polling = {"foreign", "lose", "recover"};
    for (const ScenarioInput& each : scenario.inputs) {
      if (seen_by_polling.contains(each.words.front())) observe_every_ = "100ms";
      if (each.words.front() == "fail" && each.words[2] == "start") starts_fail_ = true;
    }
  }
  void run();

 private:
  std::size_t set_up();
  void give(const Lines& words);
  void submit(const Lines& words);
  void end_process(const std::string& job, bool success);
  void fail_next(const Lines& words);
  void tune(const Lines& words);
  void compare(const ScenarioInput& input, std::chrono::milliseconds quiet);
  [[nodiscard]] std::string fifo(const std::string& job) const { return node_->at("job-" + job); }

  const ScenarioInputs& scenario_;
  Options options_;
  std::string observe_every_ = "10s";
  bool starts_fail_ = false;
  std::optional<Node> node_;
  std::optional<Journal> journal_;
};

void ScenarioRun::run() {
  std::size_t at = set_up();
  for (; at < scenario_.inputs.size() && !::testing::Test::HasFailure(); ++at) {
    const ScenarioInput& input = scenario_.inputs[at];
    give(input.words);
    const bool is_last = at + 1 == scenario_.inputs.size();
    compare(input, is_last ? kQuietAtTheEnd : kQuiet);
  }
  if (::testing::Test::HasFailure()) std::fprintf(stderr, "%s\n", node_->log().c_str());
  if (!node_->is_running()) return;
  node_->stop();
  expect_replay(*node_);
}

// Starts the daemon with all GPUs of the scenario. Returns the index of the first other input.
std::size_t ScenarioRun::set_up() {
  ScenarioInput input;
  std::string gpus;
  std::size_t at = 0;
  for (; at < scenario_.inputs.size(); ++at) {
    const Lines& words = scenario_.inputs[at].words;
    const bool is_node = words.front() == "node";
    if (!is_node && words.front() != "gpu") break;
    const bool counted = words.size() > 2 && words[2] == "x";
    gpus += cat(gpus.empty() ? "" : ",", counted ? words[3] : "1", "x", words[1]);
    if (is_node) options_.set(words, counted ? 4 : 2);
    input.events += scenario_.inputs[at].events;
  }
  node_.emplace(NodeOptions{.emulate = gpus, .config = options_.toml(observe_every_)});
  node_->start();
  if (!node_->is_running()) return scenario_.inputs.size();  // start() has failed the test
  journal_.emplace(node_->state_dir() + "/tangram.db");
  compare(input, kQuiet);
  return at;
}

void ScenarioRun::compare(const ScenarioInput& input, std::chrono::milliseconds quiet) {
  std::string line;
  for (const std::string& word : input.words) line += (line.empty() ? "" : " ") + word;
  SCOPED_TRACE("> " + line);
  journal_->await(input, quiet);
  EXPECT_EQ(by_subject(journal_->decisions), by_subject(input.decisions));
  if (!may_be_refused(input)) {
    EXPECT_GE(journal_->events, input.events);
  }
  journal_->decisions.clear();
  journal_->events = 0;
}

void ScenarioRun::give(const Lines& words) {
  const std::string& verb = words.front();
  if (verb == "submit") submit(words);
  if (verb == "exit") end_process(words[2], words.back() == "success");
  if (verb == "cancel") node_->call("POST", cat("/v1/jobs/", words[2], "/cancel"), 202);
  if (verb == "hold" || verb == "release") {
    node_->call("POST", cat("/v1/jobs/", words[2], "/", verb), 0);
  }
  if (verb == "cordon" || verb == "uncordon" || verb == "drain") {
    node_->call("POST", cat("/v1/gpus/", words[2], "/", verb), 202);
  }
  if (verb == "fail") fail_next(words);
  if (verb == "tune") tune(words);
  if (verb == "foreign") node_->tangram({"emulate", "fault", "foreign", words[4], words[1]});
  if (verb == "lose") node_->tangram({"emulate", "fault", "fall-off", words[2]});
  if (verb == "recover") node_->tangram({"emulate", "reboot"});  // a reboot brings the GPU back
}

// The job's process exits with the code that it reads from its FIFO. Where starts are to fail, it
// first fails that many times before it is ready, which requires a probe.
void ScenarioRun::submit(const Lines& words) {
  const auto has = [&](const char* word) { return std::ranges::find(words, word) != words.end(); };
  const std::string& job = words[2];
  ASSERT_EQ(mkfifo(fifo(job).c_str(), 0600), 0);
  const std::string fails = node_->at("fails");
  const std::string mark = node_->at("ready-$TANGRAM_RUN_ID");
  std::string script = cat("read code < ", fifo(job), "; exit $code");
  const bool moves = !has("pinned") && !has("batch");
  json::object more{
      {"kind", has("batch") ? "batch" : "service"},
      {"endpoint", {{"mode", "none"}}},
      {"move", {{"way", moves ? "replica" : "never"}}},
      {"restart", has("restart") ? *std::next(std::ranges::find(words, "restart")) : "never"},
      {"max_restarts", core::JobSpec().max_restarts},
      {"hold", has("held")}};
  if (has("on")) more["gpu_model"] = *std::next(std::ranges::find(words, "on"));
  if (starts_fail_) {
    script =
        cat("n=$(cat ", fails, " 2>/dev/null || echo 0); if [ $n -gt 0 ]; then echo $((n-1)) > ",
            fails, "; exit 1; fi; : > ", mark, "; ", script);
    more["probe"] = {{"kind", "command"},
                     {"command", {"/bin/sh", "-c", "test -e " + mark}},
                     {"interval", "20ms"}};
  }
  EXPECT_EQ(std::to_string(node_->submit(words[3], script, more)), job);
}

void ScenarioRun::end_process(const std::string& job, bool success) {
  eventually(cat("job ", job, " reads its FIFO"), [&] {
    const int fd = open(fifo(job).c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return false;
    const bool written = write(fd, success ? "0\n" : "1\n", 2) == 2;
    close(fd);
    return written;
  });
}

// Errors after which the device module does not retry.
void ScenarioRun::fail_next(const Lines& words) {
  const std::string times = words.size() > 3 ? words[3] : "1";
  if (words[2] == "start") {
    node_->folder().write("fails", times);
  } else {
    node_->tangram({"emulate", "fault", "call",
                    words[2] == "create"
                        ? "nvmlDeviceCreateGpuInstanceWithPlacement=INSUFFICIENT_RESOURCES"
                        : "nvmlComputeInstanceDestroy=UNKNOWN",
                    "--times", times});
  }
}

void ScenarioRun::tune(const Lines& words) {
  options_.set(words, 1);
  node_->folder().write("tangram.toml", options_.toml(observe_every_));
  node_->reload();
}

TEST(LockStep, TheDaemonDecidesAsTheScenariosSay) {
  std::map<std::string, int> skipped;
  int complete = 0;
  int truncated = 0;
  std::vector<fs::path> files;
  const fs::path root = fs::path(TANGRAM_TESTS_DIR) / "scenarios";
  for (const auto& each : fs::recursive_directory_iterator(root)) {
    const bool in_folder = each.path().parent_path() != root;
    if (in_folder && each.path().extension() == ".txt") files.push_back(each.path());
  }
  std::ranges::sort(files);
  for (const fs::path& file : files) {
    ScenarioInputs scenario = read_scenario(file);
    if (const std::string why = make_playable(scenario); !why.empty()) {
      ++skipped[why];
      continue;
    }
    SCOPED_TRACE(scenario.name);
    ScenarioRun(scenario).run();
    if (HasFailure()) return;
    ++(scenario.truncated ? truncated : complete);
  }
  std::printf("%d scenarios complete, %d truncated; skipped:\n", complete, truncated);
  for (const auto& [why, count] : skipped) std::printf("%5d %s\n", count, why.c_str());
  EXPECT_GE(complete, kMinComplete);
  EXPECT_GE(truncated, kMinTruncated);
}

}  // namespace
}  // namespace tangram::tests
