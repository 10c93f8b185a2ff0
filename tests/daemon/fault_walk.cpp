// See fault_walk.hpp.
#include "fault_walk.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <sstream>
#include <thread>

#include <boost/json/serialize.hpp>

#include "base/text.hpp"
#include "node.hpp"
#include "service_node.hpp"
#include "store/replay.hpp"
#include "store/store.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;

constexpr int kExitCode = 3;
constexpr milliseconds kAnswerTime{2'000};
constexpr milliseconds kScenarioTime{1'500};  // a call that fails may delay an answer by a retry

class Scenario {
 public:
  Scenario(const FaultWalkOptions& options, int call) : options_(options), call_(call) {}

  // Plays the scenario; returns the first call that failed, nullopt if none did.
  std::optional<std::string> play(std::vector<std::string>& violations);

 private:
  [[nodiscard]] std::vector<std::string> faults() const;
  void make_programs();
  void act();
  void act_on_service();
  void check_service();
  void wait_a_while(std::uint64_t job);
  void check_jobs();
  void check_left();
  void check_store();
  void add(const std::string& what) { violations_.push_back(what); }

  FaultWalkOptions options_;
  int call_;
  Node node_{{.emulate = "1xA100-40GB"}};
  std::uint64_t exiting_ = 0;  // job ids; 0: not acknowledged
  std::uint64_t sleeping_ = 0;
  std::uint64_t lease_ = 0;
  std::uint64_t service_ = 0;
  std::vector<std::string> violations_;
};

std::vector<std::string> Scenario::faults() const {
  return {cat("TANGRAM_FAIL=", options_.kind, ":", call_, ":", options_.count),
          "TANGRAM_FAIL_LOG=" + node_.at("failed"), "LD_PRELOAD=" TANGRAM_FAILING_CALLS,
          "ASAN_OPTIONS=verify_asan_link_order=0"};
}

// The daemon starts shims and endpoints with an empty environment: a script beside a copy of it
// sets theirs. The endpoint of a service of root runs as another user, who must be able to log
// failures.
void Scenario::make_programs() {
  namespace fs = std::filesystem;
  const fs::path built(TANGRAMD_BINARY);
  const fs::path folder(node_.at("programs"));
  fs::create_directories(folder);
  fs::create_symlink(built.parent_path() / "emulator", folder / "emulator");
  const std::string wrapped = "tangram-" + options_.program;
  const char* other = options_.program == "shim" ? "tangram-endpoint" : "tangram-shim";
  fs::create_symlink(built.parent_path() / other, folder / other);
  fs::copy_file(built, folder / "tangramd");
  std::string script = "#!/bin/sh\n";
  for (const std::string& each : faults()) script += cat("export '", each, "'\n");
  script += cat("exec ", (built.parent_path() / wrapped).string(), " \"$@\"\n");
  node_.folder().write("programs/" + wrapped, script);
  fs::permissions(folder / wrapped, fs::perms::owner_all);
  node_.folder().write("failed", "");
  fs::permissions(node_.at("failed"), fs::perms::all);
  fs::permissions(node_.at("."), fs::perms::owner_all | fs::perms::others_exec);
  node_.use_program((folder / "tangramd").string());
}

void Scenario::act() {
  const auto submit = [&](const std::string& script) -> std::uint64_t {
    const auto answer = node_.try_call("POST", "/v1/jobs", node_.job_request("1g.5gb", script));
    return answer ? answer->at("id").to_number<std::uint64_t>() : 0;
  };
  exiting_ = submit(cat("echo ran >> ", node_.at("ran"), "; exit ", kExitCode));
  sleeping_ = submit("exec sleep 1000");
  const auto lease =
      node_.try_call("POST", "/v1/leases", json::object{{"profile", "2g.10gb"}, {"wait", "500ms"}});
  if (lease) lease_ = lease->at("id").to_number<std::uint64_t>();
  if (exiting_ != 0) wait_a_while(exiting_);
  if (sleeping_ != 0) {
    node_.try_call("POST", cat("/v1/jobs/", sleeping_, "/cancel"), std::nullopt);
    wait_a_while(sleeping_);
  }
  if (lease_ != 0) node_.try_call("DELETE", cat("/v1/leases/", lease_), std::nullopt);
}

// What a client gets is the answer of the replica, an error of the endpoint, or nothing.
void Scenario::act_on_service() {
  const auto answer = node_.try_call(
      "POST", "/v1/jobs",
      node_.job_request(
          "1g.5gb", "exec " TANGRAM_LLM_SERVER,
          {{"kind", "service"},
           {"probe", {{"kind", "http"}, {"path", "/health"}, {"interval", "20ms"}}}}));
  if (!answer) return;
  service_ = answer->at("id").to_number<std::uint64_t>();
  const auto until = std::chrono::steady_clock::now() + kScenarioTime;
  for (int requests = 0; requests < 6 && std::chrono::steady_clock::now() < until;) {
    const auto job = node_.try_call("GET", cat("/v1/jobs/", service_), std::nullopt);
    if (!job || job->at("address").is_null()) {
      std::this_thread::sleep_for(milliseconds(5));
      continue;
    }
    ++requests;
    const auto [status, body] =
        get_in_time(job->at("port").to_number<std::uint16_t>(), "/whoami", kAnswerTime);
    if (status == 0 && body.find("timeout") != std::string::npos) add("a request without an end");
    if (status == 200 && body.empty()) add("an answer without its body");
    if (status != 0 && status != 200 && status < 500) add(cat("an answer with status ", status));
  }
}

// After the fault, without a new submission, the service is reached again.
void Scenario::check_service() {
  if (service_ == 0) return;
  const auto has_ended = [&] { return !node_.job(service_).at("ended").is_null(); };
  eventually("the service answers or has ended", [&] {
    const json::object job = node_.job(service_);
    if (!job.at("ended").is_null()) return true;
    return !job.at("address").is_null() &&
           get_in_time(job.at("port").to_number<std::uint16_t>(), "/whoami", kAnswerTime).first ==
               200;
  });
  if (has_ended() && !node_.job(service_).at("reason").is_string()) {
    add(cat("the service has ended without a reason: ", json::serialize(node_.job(service_))));
  }
  node_.try_call("POST", cat("/v1/jobs/", service_, "/cancel"), std::nullopt);
  eventually("the service has ended", has_ended);
  eventually("its endpoint has ended", [&] { return node_.endpoints().empty(); });
}

// Waits until the job has ended, or for kScenarioTime: a fault may have delayed the end.
void Scenario::wait_a_while(std::uint64_t job) {
  const auto until = std::chrono::steady_clock::now() + kScenarioTime;
  while (node_.has_not_exited() && std::chrono::steady_clock::now() < until) {
    const auto answer = node_.try_call("GET", cat("/v1/jobs/", job), std::nullopt);
    if (answer && !answer->at("ended").is_null()) return;
    std::this_thread::sleep_for(milliseconds(5));
  }
}

std::optional<std::string> Scenario::play(std::vector<std::string>& violations) {
  std::vector<std::string> environment = {"TANGRAM_EMULATOR_LATENCY=0"};
  if (options_.program != "daemon") {
    make_programs();
  } else {
    for (const std::string& each : faults()) environment.push_back(each);
  }
  node_.use_environment(environment);
  if (node_.try_start()) options_.program == "endpoint" ? act_on_service() : act();
  if (node_.is_running()) node_.kill();
  std::istringstream failed(node_.folder().read("failed"));
  std::string call;
  std::getline(failed, call);

  node_.use_program(TANGRAMD_BINARY);
  node_.use_environment({"TANGRAM_EMULATOR_LATENCY=0"});
  if (!node_.try_start()) {
    add(cat("the next start fails: ", node_.log()));
  } else {
    check_service();
    check_jobs();
    check_left();
    node_.stop();
    check_store();
  }
  for (const std::string& each : violations_) {
    violations.push_back(
        cat(options_.program, ", ", options_.kind, " call ", call_, " (", call, "): ", each));
  }
  return call.empty() ? std::nullopt : std::optional(call);
}

void Scenario::check_jobs() {
  if (sleeping_ != 0) {
    node_.try_call("POST", cat("/v1/jobs/", sleeping_, "/cancel"), std::nullopt);
  }
  if (lease_ != 0) node_.try_call("DELETE", cat("/v1/leases/", lease_), std::nullopt);
  eventually("no job waits or runs", [&] {
    const auto status = node_.call("GET", "/v1/status");
    return status.at("queued") == 0 && status.at("running") == 0 && status.at("held") == 0;
  });
  const std::string ran = node_.folder().read("ran");
  const auto runs = std::ranges::count(ran, '\n');
  if (runs > 1) add(cat("the job ran ", runs, " times"));
  if (exiting_ != 0) {
    const json::object job = node_.job(exiting_);
    const bool exited = job.at("state") == "failed" && job.at("exit_code") == kExitCode;
    // 126: the shim could not start the program.
    const bool did_not_start = job.at("exit_code").is_null() || job.at("exit_code") == 126;
    const bool has_reason =
        job.at("state") == "failed" && did_not_start && runs == 0 && job.at("reason").is_string();
    if (!exited && !has_reason) add(cat("the job ended otherwise: ", json::serialize(job)));
    if (exited && runs != 1) add("the job has an exit code but did not run");
  }
  if (sleeping_ != 0 && node_.state(sleeping_) != "cancelled" &&
      node_.state(sleeping_) != "failed") {
    add(cat("the cancelled job is ", node_.state(sleeping_)));
  }
}

void Scenario::check_left() {
  eventually("no shim is left", [&] { return node_.shims().empty(); });
  eventually("no process is left", [&] { return node_.run_processes().empty(); });
  if (const auto left = node_.call("GET", "/v1/leases"); !left.as_array().empty()) {
    add(cat("a lease is left: ", json::serialize(left)));
  }
  if (node_.log().find("this is a bug in Tangram") != std::string::npos) {
    add(cat("a check failed: ", node_.log()));
  }
}

void Scenario::check_store() {
  const auto store = store::Store::open(node_.state_dir() + "/tangram.db", {.read_only = true});
  if (!store) {
    add(store.error().message);
  } else if (const auto replayed = store::replay(**store); !replayed) {
    add(cat("the journal does not replay: ", replayed.error().message));
  }
}

}  // namespace

FaultWalkResult run_fault_walk(const FaultWalkOptions& options) {
  FaultWalkResult result;
  for (int call = options.from; call <= options.to; call += options.step) {
    const auto failed = Scenario(options, call).play(result.violations);
    ++result.scenarios;
    if (!failed) break;
    result.failed_calls.push_back(*failed);
    if (options.verbose) {
      std::fprintf(stderr, "%s %s %d: %s, %zu violations\n", options.program.c_str(),
                   options.kind.c_str(), call, failed->c_str(), result.violations.size());
    }
  }
  return result;
}

}  // namespace tangram::tests
