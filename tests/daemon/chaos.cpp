// See chaos.hpp.
#include "chaos.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <thread>

#include <boost/json/serialize.hpp>

#include "base/text.hpp"
#include "node.hpp"
#include "slot_observer.hpp"
#include "store/replay.hpp"
#include "store/store.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;

struct Submission {
  std::string name;
  json::object request;
  int code = 0;
  int steps = 0;           // of a job that can be moved by its checkpoint; 0: of no such job
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
  [[nodiscard]] std::optional<std::uint64_t> draw_job();
  void act_on_job();
  void act_on_gpu();
  void lease();
  void stop_daemon_for_a_while();
  void inject_fault();
  void kill_shim();
  void kill_job();
  void settle();
  void check_jobs();
  void check_steps();
  void check_job(const Submission& submission, const json::object& job);
  void check_machine();
  void check_replay();
  void add_violation(const std::string& message) { result_.violations.push_back(message); }

  ChaosOptions options_;
  std::mt19937_64 random_;
  Node node_;
  std::vector<Submission> submissions_;
  std::set<std::uint64_t> killed_;  // jobs of which a process was killed
  std::vector<std::uint64_t> leases_;
  ChaosResult result_;
};

// A batch job that saves and resumes as docs/jobs.md says. It installs its handler some time after
// its start, and records every step that it makes.
std::string trainer_script(const std::string& name, const std::string& steps_file, int steps,
                           int late_ms, int code) {
  const std::string late = late_ms < 10 ? cat("0.00", late_ms) : cat("0.", late_ms / 10);
  return cat("C=$TANGRAM_CHECKPOINT; i=0; save=; ",
             "[ \"$TANGRAM_RESUME\" != 1 ] || { i=$(cat $C/step); : > $C/resumed; }; ", "sleep ",
             late, "; trap 'save=1' USR1; ", "while [ $i -lt ", steps, " ]; do ",
             "if [ $save ]; then save=; echo $i > $C/new; mv $C/new $C/step; : > $C/saved; ",
             "n=0; while [ -e $C/saved ] && [ $n -lt 3000 ]; do sleep 0.02; n=$((n+1)); done; fi; ",
             "i=$((i+1)); echo ", name, " $i >> ", steps_file, "; sleep 0.01; done; exit ", code);
}

// The job records its start in a file, works for a moment, and exits with the drawn code.
Submission Chaos::draw_submission() {
  static constexpr const char* kProfiles[] = {"1g.5gb", "1g.5gb", "2g.10gb", "3g.20gb", "7g.40gb"};
  Submission submission;
  submission.name = cat("w", submissions_.size());
  submission.code = draw(4) == 0 ? 1 + draw(100) : 0;
  if (draw(5) == 0) {
    submission.steps = 5 + draw(40);
    const std::string script = trainer_script(submission.name, node_.at("steps"), submission.steps,
                                              draw(300), submission.code);
    submission.request = node_.job_request(
        kProfiles[draw(4)], script,
        {{"name", submission.name}, {"move", json::object{{"way", "checkpoint"}}}});
    return submission;
  }
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

// A recent job that was acknowledged.
std::optional<std::uint64_t> Chaos::draw_job() {
  const auto recent = static_cast<int>(std::min<std::size_t>(submissions_.size(), 20));
  if (recent == 0) return std::nullopt;
  const Submission& drawn =
      submissions_[submissions_.size() - 1 - static_cast<std::size_t>(draw(recent))];
  return drawn.id == 0 ? std::nullopt : std::optional(drawn.id);
}

// Moves are refused for most jobs: they wait, have ended, are moving, or there is no free slot.
void Chaos::act_on_job() {
  const auto job = draw_job();
  if (!job) return;
  static constexpr const char* kVerbs[] = {"move", "move", "move", "hold", "release"};
  const std::string verb = kVerbs[draw(5)];
  const auto answer = node_.try_call("POST", cat("/v1/jobs/", *job, "/", verb), std::nullopt);
  if (answer && verb == "move") ++result_.moves;
}

void Chaos::act_on_gpu() {
  static constexpr const char* kVerbs[] = {"drain", "cordon", "uncordon", "uncordon", "uncordon"};
  node_.try_call("POST", cat("/v1/gpus/", draw(2), "/", kVerbs[draw(5)]), std::nullopt);
}

// Takes a lease, or releases the oldest one; some are never released and expire.
void Chaos::lease() {
  if (leases_.size() > 2) {
    node_.try_call("DELETE", cat("/v1/leases/", leases_.front()), std::nullopt);
    leases_.erase(leases_.begin());
    return;
  }
  const auto answer = node_.try_call(
      "POST", "/v1/leases", json::object{{"profile", "1g.5gb"}, {"ttl", "3s"}, {"wait", "50ms"}});
  if (!answer) return;
  ++result_.leases;
  if (draw(4) != 0) leases_.push_back(answer->at("id").to_number<std::uint64_t>());
}

void Chaos::stop_daemon_for_a_while() {
  ::kill(node_.pid(), SIGSTOP);
  if (draw(2) == 0) kill_job();
  if (draw(4) == 0) kill_shim();
  std::this_thread::sleep_for(std::chrono::milliseconds(draw(150)));
  ::kill(node_.pid(), SIGCONT);
  ++result_.daemon_stops;
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
    switch (draw(20)) {
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
      case 4:
      case 5:
      case 6:
        act_on_job();
        break;
      case 7:
        act_on_gpu();
        break;
      case 8:
        lease();
        break;
      case 9:
        stop_daemon_for_a_while();
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
  SlotObserver observer(node_);
  for (int i = 0; i < options_.rounds; ++i) round(i);
  for (const Submission& submission : submissions_)
    ++(submission.id == 0 ? result_.unanswered : result_.acknowledged);
  node_.start();
  settle();
  const SlotObserver::Result observed = observer.stop();
  result_.looks = observed.looks;
  for (const std::string& each : observed.violations) add_violation(each);
  check_jobs();
  check_steps();
  check_machine();
  node_.stop();
  check_replay();
  return result_;
}

void Chaos::settle() {
  int code = 0;
  node_.tangram({"emulate", "fault", "clear"}, &code);
  for (const int gpu : {0, 1}) node_.call("POST", cat("/v1/gpus/", gpu, "/uncordon"), 0);
  for (const Submission& each : submissions_) {
    if (each.id != 0) node_.try_call("POST", cat("/v1/jobs/", each.id, "/release"), std::nullopt);
  }
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
    if (job.at("request").at("kind") == "lease") continue;
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
    if (completed && submission.steps == 0 && !ran.contains(submission.name))
      add_violation(cat(submission.name, " completed but never ran"));
  }
}

// A job that is moved makes no step twice, and none is missing when it has completed.
void Chaos::check_steps() {
  std::map<std::string, std::map<int, int>> made;
  std::istringstream lines(node_.folder().read("steps"));
  std::string name;
  for (int step = 0; lines >> name >> step;) ++made[name][step];
  for (const auto& [job, steps] : made) {
    for (const auto& [step, times] : steps) {
      if (times > 1) add_violation(cat(job, " made step ", step, " ", times, " times"));
    }
  }
  const json::value jobs = node_.call("GET", "/v1/jobs?all=1");
  std::set<std::string> completed;
  for (const auto& job : jobs.as_array()) {
    if (job.at("state") == "completed") completed.emplace(job.at("name").as_string());
  }
  for (const Submission& each : submissions_) {
    if (each.steps == 0 || !completed.contains(each.name)) continue;
    if (made[each.name].size() != static_cast<std::size_t>(each.steps)) {
      add_violation(
          cat(each.name, " completed with ", made[each.name].size(), " of ", each.steps, " steps"));
    }
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
