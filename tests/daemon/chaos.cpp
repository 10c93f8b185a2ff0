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

struct Wish {
  std::string name;
  json::object request;
  int code = 0;
  std::uint64_t id = 0;  // 0: never acknowledged
  bool cancelled = false;
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
  Wish draw_wish();
  void send(Wish& wish);
  void submit();
  void kill_while_submitting();
  void cancel();
  void disturb();
  void kill_shim();
  void kill_job();
  void settle();
  void check_jobs();
  void check_job(const Wish& wish, const json::object& job);
  void check_machine();
  void check_replay();
  void complain(const std::string& what) { result_.complaints.push_back(what); }

  ChaosOptions options_;
  std::mt19937_64 random_;
  Node node_;
  std::vector<Wish> wishes_;
  std::set<std::uint64_t> hit_;  // jobs of which we killed a process
  ChaosResult result_;
};

// The job notes its beginning where only it writes, then works a little, then ends as it was told.
Wish Chaos::draw_wish() {
  static constexpr const char* kProfiles[] = {"1g.5gb", "1g.5gb", "2g.10gb", "3g.20gb", "7g.40gb"};
  Wish wish;
  wish.name = cat("w", wishes_.size());
  wish.code = draw(4) == 0 ? 1 + draw(100) : 0;
  const std::string script = cat("echo ", wish.name, " >> ", node_.at("ran"), "; sleep 0.",
                                 draw(3) == 0 ? "2" : "0", draw(10), "; exit ", wish.code);
  wish.request = node_.request(kProfiles[draw(5)], script, {{"name", wish.name}});
  return wish;
}

void Chaos::send(Wish& wish) {
  const auto answer = node_.try_ask("POST", "/v1/jobs", wish.request);
  if (answer) wish.id = answer->at("id").to_number<std::uint64_t>();
}

void Chaos::submit() {
  wishes_.push_back(draw_wish());
  send(wishes_.back());
}

// So that some submissions are cut off in the middle: acknowledged or not, but never half.
void Chaos::kill_while_submitting() {
  const std::size_t first = wishes_.size();
  for (int i = 0; i < 6; ++i) wishes_.push_back(draw_wish());
  const int wait_us = draw(20'000);
  std::thread submitter([&] {
    for (std::size_t i = first; i < wishes_.size(); ++i) send(wishes_[i]);
  });
  std::this_thread::sleep_for(std::chrono::microseconds(wait_us));
  node_.kill();
  submitter.join();
}

void Chaos::cancel() {
  if (wishes_.empty()) return;
  Wish& wish = wishes_[static_cast<std::size_t>(draw(static_cast<int>(wishes_.size())))];
  if (wish.id == 0) return;
  // Unanswered, it may have been heard all the same.
  wish.cancelled = true;
  node_.try_ask("POST", cat("/v1/jobs/", wish.id, "/cancel"), std::nullopt);
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
    hit_.insert(*job);  // a process that was its main one ends it
    ::kill(processes[which], SIGKILL);
    ++result_.job_kills;
  }
}

void Chaos::disturb() {
  static constexpr const char* kFaults[] = {
      "nvmlDeviceCreateGpuInstanceWithPlacement=UNKNOWN", "nvmlGpuInstanceDestroy=IN_USE",
      "nvmlGpuInstanceCreateComputeInstance=UNKNOWN", "nvmlComputeInstanceDestroy=UNKNOWN"};
  int code = 0;
  node_.tangram({"emulate", "fault", "call", kFaults[draw(4)], "--times", "1"}, &code);
}

void Chaos::round(int number) {
  node_.start();
  const int deeds = 3 + draw(12);
  for (int i = 0; i < deeds; ++i) {
    switch (draw(12)) {
      case 0:
        cancel();
        break;
      case 1:
        disturb();
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
  if (draw(3) == 0) kill_shim();  // while nobody watches
  if (draw(3) == 0) kill_job();
  if (options_.tell) {
    std::fprintf(stderr, "\rround %d: %zu jobs, %zu complaints ", number + 1, wishes_.size(),
                 result_.complaints.size());
  }
}

ChaosResult Chaos::run() {
  for (int i = 0; i < options_.rounds; ++i) round(i);
  for (const Wish& wish : wishes_) ++(wish.id == 0 ? result_.unanswered : result_.acknowledged);
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
      "nothing waits or runs",
      [&] {
        const auto status = node_.ask("GET", "/v1/status");
        return status.at("queued") == 0 && status.at("running") == 0 && status.at("held") == 0;
      },
      std::chrono::minutes(5));
}

void Chaos::check_jobs() {
  std::map<std::string, int> ran;
  std::istringstream lines(node_.folder().read("ran"));
  for (std::string name; std::getline(lines, name);) ++ran[name];
  for (const auto& [name, times] : ran) {
    if (times > 1) complain(cat(name, " ran ", times, " times"));
  }
  std::map<std::string, json::object> known;
  const json::value jobs = node_.ask("GET", "/v1/jobs?all=1");
  for (const auto& job : jobs.as_array()) {
    const std::string name(job.at("name").as_string());
    if (!known.emplace(name, job.as_object()).second) complain(cat(name, " is there twice"));
  }
  for (const Wish& wish : wishes_) {
    const auto at = known.find(wish.name);
    if (at == known.end()) {
      if (wish.id != 0) complain(cat("job ", wish.id, " was acknowledged and is lost"));
      if (ran.contains(wish.name)) complain(cat(wish.name, " ran and is not known"));
      continue;
    }
    check_job(wish, at->second);
    const bool completed = at->second.at("state") == "completed";
    if (completed && !ran.contains(wish.name)) complain(cat(wish.name, " completed and never ran"));
  }
}

// Over, and as the job itself had decided, unless something of ours ended it and says so.
void Chaos::check_job(const Wish& wish, const json::object& job) {
  const std::string state(job.at("state").as_string());
  const std::string reason =
      job.at("reason").is_string() ? std::string(job.at("reason").as_string()) : "";
  if (wish.id != 0 && job.at("id") != wish.id) complain(cat(wish.name, " has another id"));
  const json::value& code = job.at("exit_code");
  if (state == "completed" && wish.code == 0 && code == 0) return;
  if (state == "failed" && wish.code != 0 && code == wish.code) return;
  if (state == "cancelled" && wish.cancelled) return;
  if (state == "failed" && reason == "supervisor lost" && code.is_null()) return;
  const bool hit = hit_.contains(job.at("id").to_number<std::uint64_t>());
  if (state == "failed" && hit && code.is_null() && job.at("exit_signal") == SIGKILL) return;
  if (state == "failed" && code.is_null() && reason.find("create") != std::string::npos) return;
  complain(cat(wish.name, " should end with ", wish.code, " and is ", json::serialize(job)));
}

void Chaos::check_machine() {
  eventually("no shim is left", [&] { return node_.shims().empty(); });
  if (!node_.run_processes().empty()) complain("a process of a job is left");
  std::set<std::string> driver;
  for (const std::string& each : node_.instances()) driver.insert(each);
  eventually("the driver's instances are those that Tangram knows", [&] {
    std::set<std::string> known;
    const json::value gpus = node_.ask("GET", "/v1/gpus");
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
    complain(store.error().message);
    return;
  }
  if (const auto replayed = store::replay(**store); !replayed) {
    complain(cat("the journal does not replay: ", replayed.error().message));
  }
}

}  // namespace

ChaosResult run_chaos(const ChaosOptions& options) { return Chaos(options).run(); }

}  // namespace tangram::tests
