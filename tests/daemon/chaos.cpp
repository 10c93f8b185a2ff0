// See chaos.hpp: the operations.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <thread>

#include <boost/json/array.hpp>

#include "base/text.hpp"
#include "chaos_world.hpp"
#include "slot_observer.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;

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

}  // namespace

// The job records its start in a file, works for a moment, and exits with the drawn code.
Submission Chaos::draw_submission() {
  static constexpr const char* kProfiles[] = {"1g.5gb", "1g.5gb", "2g.10gb", "3g.20gb", "7g.40gb"};
  Submission submission;
  submission.name = cat("w", submissions_.size());
  submission.code = draw(4) == 0 ? 1 + draw(100) : 0;
  if (draw(4) == 0) {
    movable_.insert(submission.name);
    submission.steps = 10 + draw(90);
    const std::string script = trainer_script(submission.name, node_.at("steps"), submission.steps,
                                              draw(300), submission.code);
    submission.request = node_.job_request(
        kProfiles[draw(4)], script,
        {{"name", submission.name}, {"move", json::object{{"way", "checkpoint"}}}});
    return submission;
  }
  if (draw(10) == 0) {
    movable_.insert(submission.name);
    submission.is_service = true;
    submission.code = 0;
    submission.request = node_.job_request(
        kProfiles[draw(3)], "exec sleep 1000",
        {{"name", submission.name},
         {"kind", "service"},
         {"endpoint", json::object{{"mode", "none"}}},
         {"probe", json::object{{"kind", "command"}, {"command", json::array{"true"}}}},
         {"move", json::object{{"way", "replica"}}}});
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

// One of the jobs that are running and can be moved.
std::optional<std::uint64_t> Chaos::draw_movable_job() {
  const auto jobs = node_.try_call("GET", "/v1/jobs?state=running", std::nullopt);
  std::vector<std::uint64_t> movable;
  for (const auto& job : jobs ? jobs->as_array() : json::array()) {
    if (movable_.contains(std::string(job.at("name").as_string())))
      movable.push_back(job.at("id").to_number<std::uint64_t>());
  }
  if (movable.empty()) return std::nullopt;
  return movable[static_cast<std::size_t>(draw(static_cast<int>(movable.size())))];
}

void Chaos::act_on_job() {
  if (draw(3) != 0) {
    const auto job = draw_movable_job();
    if (job && node_.try_call("POST", cat("/v1/jobs/", *job, "/move"), std::nullopt)) {
      ++result_.moves;
    }
    return;
  }
  const char* verb = draw(2) == 0 ? "hold" : "release";
  if (const auto job = draw_job()) {
    node_.try_call("POST", cat("/v1/jobs/", *job, "/", verb), std::nullopt);
  }
}

void Chaos::act_on_gpu() {
  static constexpr const char* kVerbs[] = {"drain", "cordon", "uncordon", "uncordon", "uncordon"};
  node_.try_call("POST", cat("/v1/gpus/", draw(3), "/", kVerbs[draw(5)]), std::nullopt);
}

// Takes a lease, or releases the oldest one; some are never released and expire.
void Chaos::lease() {
  if (leases_.size() > 2) {
    node_.try_call("DELETE", cat("/v1/leases/", leases_.front()), std::nullopt);
    leases_.erase(leases_.begin());
    return;
  }
  const auto answer = node_.try_call(
      "POST", "/v1/leases", json::object{{"profile", "1g.5gb"}, {"ttl", "3s"}, {"wait", "300ms"}});
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
    switch (draw(24)) {
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
      case 7:
      case 8:
        act_on_job();
        break;
      case 9:
        act_on_gpu();
        break;
      case 10:
        lease();
        break;
      case 11:
        stop_daemon_for_a_while();
        break;
      default:
        submit();
    }
    if (draw(3) == 0) std::this_thread::sleep_for(std::chrono::milliseconds(draw(40)));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(draw(2) == 0 ? draw(60) : draw(500)));
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
  result_.driver_looks = observed.driver_looks;
  result_.api_looks = observed.api_looks;
  for (const std::string& each : observed.violations) add_violation(each);
  check_jobs();
  check_steps();
  check_machine();
  node_.stop();
  check_replay();
  return result_;
}

ChaosResult run_chaos(const ChaosOptions& options) { return Chaos(options).run(); }

}  // namespace tangram::tests
