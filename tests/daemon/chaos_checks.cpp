// See chaos.hpp: the end of the test, and what is checked then.
#include <map>
#include <sstream>

#include <boost/json/serialize.hpp>

#include "base/text.hpp"
#include "chaos_world.hpp"
#include "store/replay.hpp"
#include "store/store.hpp"

namespace tangram::tests {

namespace json = boost::json;

void Chaos::settle() {
  int code = 0;
  node_.tangram({"emulate", "fault", "clear"}, &code);
  for (const int gpu : {0, 1, 2}) node_.call("POST", cat("/v1/gpus/", gpu, "/uncordon"), 0);
  for (const Submission& each : submissions_) {
    if (each.id != 0) node_.try_call("POST", cat("/v1/jobs/", each.id, "/release"), std::nullopt);
  }
  cancel_services();
  eventually(
      "no job waits or runs",
      [&] {
        const auto status = node_.call("GET", "/v1/status");
        return status.at("queued") == 0 && status.at("running") == 0 && status.at("held") == 0;
      },
      std::chrono::minutes(5));
}

// Also those whose submission was never answered.
void Chaos::cancel_services() {
  for (Submission& each : submissions_) each.cancelled = each.cancelled || each.is_service;
  const json::value jobs = node_.call("GET", "/v1/jobs");
  for (const auto& job : jobs.as_array()) {
    if (job.at("request").at("kind") != "service") continue;
    node_.try_call("POST", cat("/v1/jobs/", job.at("id").to_number<std::uint64_t>(), "/cancel"),
                   std::nullopt);
  }
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

}  // namespace tangram::tests
