// See chaos.hpp.
#include "chaos.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <thread>

#include <boost/json/serialize.hpp>

#include "base/text.hpp"
#include "node.hpp"
#include "store/replay.hpp"
#include "store/store.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;

struct Submission {
  std::string name;
  json::object request;
  int code = 0;
  std::uint64_t id = 0;    // 0: never acknowledged
  bool cancelled = false;  // or may be: a cancel was sent
};

class Chaos {
 public:
  explicit Chaos(const ChaosOptions& options)
      : options_(options),
        random_(options.seed),
        node_({.emulate = "2xA100-40GB", .config = "[device]\nobserve_every = \"200ms\"\n"}) {}

  ChaosResult run();

 private:
  int draw(int below) { return std::uniform_int_distribution<int>(0, below - 1)(random_); }
  void round(int number);
  Submission draw_submission();
  void send(Submission& submission);
  void submit();
  void kill_while_submitting();
  void cancel();
  void inject_fault();
  void kill_shim();
  void kill_job();
  void settle();
  void check_jobs();
  void check_job(const Submission& submission, const json::object& job);
  void check_machine();
  void check_replay();
  void add_violation(const std::string& message) { result_.violations.push_back(message); }

  ChaosOptions options_;
  std::mt19937_64 random_;
  Node node_;
  std::vector<Submission> submissions_;
  std::set<std::uint64_t> killed_;  // jobs of which a process was killed
  ChaosResult result_;
};

// The job records its start in a file, works for a moment, and exits with the drawn code.
Submission Chaos::draw_submission() {
  static constexpr const char* kProfiles[] = {"1g.5gb", "1g.5gb", "2g.10gb", "3g.20gb", "7g.40gb"};
  Submission submission;
  submission.name = cat("w", submissions_.size());
  submission.code = draw(4) == 0 ? 1 + draw(100) : 0;
  const std::string script = cat("echo ", submission.name, " >> ", node_.at("ran"), "; sleep 0.",
                                 draw(3) == 0 ? "2" : "0", draw(10), "; exit ", submission.code);
  submission.request = node_.job_request(kProfiles[draw(5)], script, {{"name", submission.name}});
  return submission;
}

void Chaos::send(Submission& submission) {
  const auto answer = node_.try_call("POST", "/v1/jobs", submission.request);
  if (answer) submission.id = answer->at("id").to_number<std::uint64_t>();
}

void Chaos::submit() {
  submissions_.push_back(draw_submission());
  send(submissions_.back());
}

// Some submissions are interrupted: they may be acknowledged or not, but never be incomplete.
void Chaos::kill_while_submitting() {
  const std::size_t first = submissions_.size();
  for (int i = 0; i < 6; ++i) submissions_.push_back(draw_submission());
  const int wait_us = draw(20'000);
  std::thread submitter([&] {
    for (std::size_t i = first; i < submissions_.size(); ++i) send(submissions_[i]);
  });
  std::this_thread::sleep_for(std::chrono::microseconds(wait_us));
  node_.kill();
  submitter.join();
}

void Chaos::cancel() {
  if (submissions_.empty()) return;
  Submission& submission =
      submissions_[static_cast<std::size_t>(draw(static_cast<int>(submissions_.size())))];
  if (submission.id == 0) return;
  // Without a response it may have been received all the same.
  submission.cancelled = true;
  node_.try_call("POST", cat("/v1/jobs/", submission.id, "/cancel"), std::nullopt);
}

void Chaos::kill_shim() {
  const auto shims = node_.shims();
  if (shims.empty()) return;
  ::kill(shims[static_cast<std::size_t>(draw(static_cast<int>(shims.size())))], SIGKILL);
  ++result_.shim_kills;
}

void Chaos::kill_job() {
  const auto processes = node_.run_processes();
  if (processes.empty()) return;
  const auto which = static_cast<std::size_t>(draw(static_cast<int>(processes.size())));
  if (const auto job = node_.job_of(processes[which])) {
    killed_.insert(*job);  // the job ends if it was its main process
    ::kill(processes[which], SIGKILL);
    ++result_.job_kills;
  }
}

void Chaos::inject_fault() {
  static constexpr const char* kFaults[] = {
      "nvmlDeviceCreateGpuInstanceWithPlacement=UNKNOWN", "nvmlGpuInstanceDestroy=IN_USE",
      "nvmlGpuInstanceCreateComputeInstance=UNKNOWN", "nvmlComputeInstanceDestroy=UNKNOWN"};
  int code = 0;
  node_.tangram({"emulate", "fault", "call", kFaults[draw(4)], "--times", "1"}, &code);
}

void Chaos::round(int number) {
  node_.start();
  const int operations = 3 + draw(12);
  for (int i = 0; i < operations; ++i) {
    switch (draw(12)) {
      case 0:
        cancel();
        break;
      case 1:
        inject_fault();
        break;
      case 2:
        kill_shim();
        break;
      case 3:
        kill_job();
        break;
      default:
        submit();
    }
    if (draw(3) == 0) std::this_thread::sleep_for(std::chrono::milliseconds(draw(40)));
  }
  std::this_thread::sleep_for(std::chrono::microseconds(draw(60'000)));
  kill_while_submitting();
  ++result_.daemon_kills;
  if (draw(3) == 0) kill_shim();  // while no daemon runs
  if (draw(3) == 0) kill_job();
  if (options_.verbose) {
    std::fprintf(stderr, "\rround %d: %zu jobs, %zu violations ", number + 1, submissions_.size(),
                 result_.violations.size());
  }
}

ChaosResult Chaos::run() {
  for (int i = 0; i < options_.rounds; ++i) round(i);
  for (const Submission& submission : submissions_)
    ++(submission.id == 0 ? result_.unanswered : result_.acknowledged);
  node_.start();
  settle();
  check_jobs();
  check_machine();
  node_.stop();
  check_replay();
  return result_;
}

void Chaos::settle() {
  int code = 0;
  node_.tangram({"emulate", "fault", "clear"}, &code);
  eventually(
      "no job waits or runs",
      [&] {
        const auto status = node_.call("GET", "/v1/status");
        return status.at("queued") == 0 && status.at("running") == 0 && status.at("held") == 0;
      },
      std::chrono::minutes(5));
}

void Chaos::check_jobs() {
  std::map<std::string, int> ran;
  std::istringstream lines(node_.folder().read("ran"));
  for (std::string name; std::getline(lines, name);) ++ran[name];
  for (const auto& [name, times] : ran) {
    if (times > 1) add_violation(cat(name, " ran ", times, " times"));
  }
  std::map<std::string, json::object> known;
  const json::value jobs = node_.call("GET", "/v1/jobs?all=1");
  for (const auto& job : jobs.as_array()) {
    const std::string name(job.at("name").as_string());
    if (!known.emplace(name, job.as_object()).second) add_violation(cat(name, " exists twice"));
  }
  for (const Submission& submission : submissions_) {
    const auto at = known.find(submission.name);
    if (at == known.end()) {
      if (submission.id != 0)
        add_violation(cat("job ", submission.id, " was acknowledged and lost"));
      if (ran.contains(submission.name)) add_violation(cat(submission.name, " ran but is unknown"));
      continue;
    }
    check_job(submission, at->second);
    const bool completed = at->second.at("state") == "completed";
    if (completed && !ran.contains(submission.name))
      add_violation(cat(submission.name, " completed but never ran"));
  }
}

// A finished job has its own exit code, unless the test or a fault ended it and its state says so.
void Chaos::check_job(const Submission& submission, const json::object& job) {
  const std::string state(job.at("state").as_string());
  const std::string reason =
      job.at("reason").is_string() ? std::string(job.at("reason").as_string()) : "";
  if (submission.id != 0 && job.at("id") != submission.id)
    add_violation(cat(submission.name, " has another id"));
  const json::value& code = job.at("exit_code");
  if (state == "completed" && submission.code == 0 && code == 0) return;
  if (state == "failed" && submission.code != 0 && code == submission.code) return;
  if (state == "cancelled" && submission.cancelled) return;
  if (state == "failed" && reason == "shim lost" && code.is_null()) return;
  const bool was_killed = killed_.contains(job.at("id").to_number<std::uint64_t>());
  if (state == "failed" && was_killed && code.is_null() && job.at("exit_signal") == SIGKILL) return;
  if (state == "failed" && code.is_null() && reason.find("create") != std::string::npos) return;
  add_violation(
      cat(submission.name, ": expected exit code ", submission.code, ": ", json::serialize(job)));
}

void Chaos::check_machine() {
  eventually("no shim is left", [&] { return node_.shims().empty(); });
  if (!node_.run_processes().empty()) add_violation("a job's process is left");
  std::set<std::string> driver;
  for (const std::string& each : node_.instances()) driver.insert(each);
  eventually("the driver's instances are those that Tangram reports", [&] {
    std::set<std::string> known;
    const json::value gpus = node_.call("GET", "/v1/gpus");
    for (const auto& gpu : gpus.as_array()) {
      for (const auto& each : gpu.at("instances").as_array()) {
        known.insert(cat(gpu.at("index").to_number<int>(), " ",
                         std::string_view(each.at("profile").as_string()), "@",
                         each.at("start").to_number<int>()));
      }
    }
    driver.clear();
    for (const std::string& each : node_.instances()) driver.insert(each);
    return driver == known;
  });
}

void Chaos::check_replay() {
  const auto store = store::Store::open(node_.state_dir() + "/tangram.db", {.read_only = true});
  if (!store) {
    add_violation(store.error().message);
    return;
  }
  if (const auto replayed = store::replay(**store); !replayed) {
    add_violation(cat("the journal does not replay: ", replayed.error().message));
  }
}

}  // namespace

ChaosResult run_chaos(const ChaosOptions& options) { return Chaos(options).run(); }

}  // namespace tangram::tests
