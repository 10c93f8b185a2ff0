// The scheduler's scenario files once more, with the daemon in the scheduler's place: GPUs of the
// emulated driver, real processes as jobs, and every input given only when the last one has had all
// its consequences; then the journal is replayed. One rule: an input is given as its author would
// give it (a request, a process that ends, a driver that refuses), never as an event; a scenario
// with an input that cannot be given so is left out, and counted.
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
#include "scenario_story.hpp"
#include "store/replay.hpp"
#include "store/store.hpp"

namespace tangram::tests {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kDeadline{10'000};  // for all consequences of one input
constexpr std::chrono::milliseconds kQuiet{20};         // without a step, after the last one
constexpr std::chrono::milliseconds kQuietAtTheEnd{60};
constexpr int kLeastWhole = 35;  // scenarios from beginning to end
constexpr int kLeastInPart = 8;  // those that end early; see fit()

// Decisions about different jobs, or on different GPUs, come in the order in which real processes
// and GPUs answer, which no scheduler decides. So: the same lines, and those of each job, and the
// creations and destructions of each GPU, in the same order.
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
  // What was written since the last look; false: nothing.
  bool look() {
    if (!store_) return false;
    const auto steps = store_->steps(next_, 10'000);
    EXPECT_TRUE(steps) << (steps ? "" : steps.error().message);
    if (!steps || steps->empty()) return false;
    for (const store::Step& step : *steps) {
      next_ = step.sequence + 1;
      if (!std::holds_alternative<core::WakeUp>(step.event)) ++ins;
      std::istringstream decisions(step.decisions);
      for (std::string line; std::getline(decisions, line);) {
        if (!is_wake(line)) outs.push_back(line);
      }
    }
    return true;
  }
  // Until that much was written and then nothing more, or the deadline.
  void await(const Given& given, std::chrono::milliseconds quiet) {
    const auto deadline = Clock::now() + kDeadline;
    auto last = Clock::now();
    while (Clock::now() < deadline) {
      if (look()) last = Clock::now();
      const bool enough =
          outs.size() >= given.outs.size() && (may_be_refused(given) || ins >= given.ins);
      if (enough && Clock::now() - last >= quiet) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  Lines outs;           // decisions
  std::size_t ins = 0;  // events, but for the passing of time

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

// [scheduler] of the daemon's file, by the scenario's names; by default core's own defaults.
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
  void take(const Lines& words, std::size_t from) {
    for (std::size_t i = from; i + 1 < words.size(); i += 2) values_.at(words[i]) = words[i + 1];
  }
  [[nodiscard]] std::string toml(const std::string& observe_every) const {
    // A GPU that falls off the bus reports an Xid, which would cordon it besides.
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

// One scenario, played on one node.
class Play {
 public:
  explicit Play(const Story& story) : story_(story) {
    const std::set<std::string> outer = {"foreign", "lose", "recover"};
    for (const Given& each : story.inputs) {
      if (outer.contains(each.words.front())) observe_every_ = "100ms";
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
  void compare(const Given& given, std::chrono::milliseconds quiet);
  [[nodiscard]] std::string door(const std::string& job) const { return node_->at("job-" + job); }

  const Story& story_;
  Options options_;
  std::string observe_every_ = "10s";
  bool starts_fail_ = false;
  std::optional<Node> node_;
  std::optional<Journal> journal_;
};

void Play::run() {
  std::size_t at = set_up();
  for (; at < story_.inputs.size() && !::testing::Test::HasFailure(); ++at) {
    const Given& given = story_.inputs[at];
    give(given.words);
    const bool is_last = at + 1 == story_.inputs.size();
    compare(given, is_last ? kQuietAtTheEnd : kQuiet);
  }
  if (::testing::Test::HasFailure()) std::fprintf(stderr, "%s\n", node_->log().c_str());
  if (!node_->runs()) return;
  node_->stop();
  expect_replay(*node_);
}

// The node and the GPUs that follow it, which the daemon finds all at once.
std::size_t Play::set_up() {
  Given given;
  std::string gpus;
  std::size_t at = 0;
  for (; at < story_.inputs.size(); ++at) {
    const Lines& words = story_.inputs[at].words;
    const bool is_node = words.front() == "node";
    if (!is_node && words.front() != "gpu") break;
    const bool counted = words.size() > 2 && words[2] == "x";
    gpus += cat(gpus.empty() ? "" : ",", counted ? words[3] : "1", "x", words[1]);
    if (is_node) options_.take(words, counted ? 4 : 2);
    given.ins += story_.inputs[at].ins;
  }
  node_.emplace(NodeOptions{.emulate = gpus, .config = options_.toml(observe_every_)});
  node_->start();
  if (!node_->runs()) return story_.inputs.size();  // the failure is told
  journal_.emplace(node_->state_dir() + "/tangram.db");
  compare(given, kQuiet);
  return at;
}

void Play::compare(const Given& given, std::chrono::milliseconds quiet) {
  std::string line;
  for (const std::string& word : given.words) line += (line.empty() ? "" : " ") + word;
  SCOPED_TRACE("> " + line);
  journal_->await(given, quiet);
  EXPECT_EQ(by_subject(journal_->outs), by_subject(given.outs));
  if (!may_be_refused(given)) {
    EXPECT_GE(journal_->ins, given.ins);
  }
  journal_->outs.clear();
  journal_->ins = 0;
}

void Play::give(const Lines& words) {
  const std::string& what = words.front();
  if (what == "submit") submit(words);
  if (what == "exit") end_process(words[2], words.back() == "success");
  if (what == "cancel") node_->ask("POST", cat("/v1/jobs/", words[2], "/cancel"), 202);
  if (what == "hold" || what == "release") {
    node_->ask("POST", cat("/v1/jobs/", words[2], "/", what), 0);
  }
  if (what == "cordon" || what == "uncordon" || what == "drain") {
    node_->ask("POST", cat("/v1/gpus/", words[2], "/", what), 202);
  }
  if (what == "fail") fail_next(words);
  if (what == "tune") tune(words);
  if (what == "foreign") node_->tangram({"emulate", "fault", "foreign", words[4], words[1]});
  if (what == "lose") node_->tangram({"emulate", "fault", "fall-off", words[2]});
  if (what == "recover") node_->tangram({"emulate", "reboot"});  // of the machine around the GPU
}

// The job's process ends with the number that it reads from its door. Where starts are to fail, it
// fails so many times before it is ready, which only a probe can tell.
void Play::submit(const Lines& words) {
  const auto has = [&](const char* word) { return std::ranges::find(words, word) != words.end(); };
  const std::string& job = words[2];
  ASSERT_EQ(mkfifo(door(job).c_str(), 0600), 0);
  const std::string fails = node_->at("fails");
  const std::string mark = node_->at("ready-$TANGRAM_RUN_ID");
  std::string script = cat("read code < ", door(job), "; exit $code");
  const bool moves = !has("pinned") && !has("batch");
  json::object more{{"kind", has("batch") ? "batch" : "service"},
                    {"endpoint", {{"mode", "none"}}},
                    {"move", {{"way", moves ? "replica" : "never"}}},
                    {"restart", has("restart") ? words.back() : "never"},
                    {"max_restarts", core::JobSpec().max_restarts},
                    {"hold", has("held")}};
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

void Play::end_process(const std::string& job, bool success) {
  eventually(cat("job ", job, " listens"), [&] {
    const int fd = open(door(job).c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return false;
    const bool written = write(fd, success ? "0\n" : "1\n", 2) == 2;
    close(fd);
    return written;
  });
}

// Errors that the device room does not meet with another attempt.
void Play::fail_next(const Lines& words) {
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

void Play::tune(const Lines& words) {
  options_.take(words, 1);
  node_->folder().write("tangram.toml", options_.toml(observe_every_));
  node_->reload();
}

TEST(LockStep, TheDaemonDecidesAsTheScenariosSay) {
  std::map<std::string, int> skipped;
  int whole = 0;
  int in_part = 0;
  std::vector<fs::path> files;
  const fs::path root = fs::path(TANGRAM_TESTS_DIR) / "scenarios";
  for (const auto& each : fs::recursive_directory_iterator(root)) {
    const bool in_chapter = each.path().parent_path() != root;
    if (in_chapter && each.path().extension() == ".txt") files.push_back(each.path());
  }
  std::ranges::sort(files);
  for (const fs::path& file : files) {
    Story story = read_story(file);
    if (const std::string why = fit(story); !why.empty()) {
      ++skipped[why];
      continue;
    }
    SCOPED_TRACE(story.name);
    Play(story).run();
    if (HasFailure()) return;
    ++(story.in_part ? in_part : whole);
  }
  std::printf("%d scenarios whole, %d in part; left out:\n", whole, in_part);
  for (const auto& [why, count] : skipped) std::printf("%5d %s\n", count, why.c_str());
  EXPECT_GE(whole, kLeastWhole);
  EXPECT_GE(in_part, kLeastInPart);
}

}  // namespace
}  // namespace tangram::tests
