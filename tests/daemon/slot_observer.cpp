// See slot_observer.hpp.
#include "slot_observer.hpp"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "base/text.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;
using Use = SlotObserver::Use;

constexpr std::size_t kLooksPerDriverLook = 3;
constexpr std::size_t kLooksPerApiLook = 2;
constexpr std::size_t kLooksPerHistoryLook = 20;

std::string variable(const std::string& environment, const std::string& name) {
  const std::string text = '\0' + environment;
  const auto at = text.find('\0' + name + '=');
  if (at == std::string::npos) return "";
  const auto begin = at + name.size() + 2;
  return text.substr(begin, text.find('\0', begin) - begin);
}

// nullopt: the process has ended, or uses no instance.
std::optional<Use> use_of(pid_t pid) {
  std::ifstream file(cat("/proc/", pid, "/environ"), std::ios::binary);
  const std::string environment{std::istreambuf_iterator<char>(file), {}};
  Use use{.pid = pid,
          .job = variable(environment, "TANGRAM_JOB_ID"),
          .device = variable(environment, "CUDA_VISIBLE_DEVICES")};
  if (use.job.empty() || !use.device.starts_with("MIG-")) return std::nullopt;
  return use;
}

// A use that was seen before a look elsewhere counts only if it is still there after it.
bool is_still(const Use& use) { return use_of(use.pid) == use; }

std::string text_of(const Use& use) {
  return cat("job ", use.job, " (process ", use.pid, ") uses ", use.device);
}

// The instances that the driver has, by UUID; nullopt: the driver could not be asked.
std::optional<std::set<std::string>> instances_of_driver(Node& node) {
  int code = 0;
  const std::string text =
      node.tangram({"device", "instances", "--json", "--owned", node.at("observer-owned")}, &code);
  boost::system::error_code bad;
  const json::value listed = json::parse(text, bad);
  if (code != 0 || bad || !listed.is_array()) return std::nullopt;
  std::set<std::string> found;
  for (const auto& each : listed.as_array()) {
    if (each.at("uuid").is_string()) found.emplace(each.at("uuid").as_string());
  }
  return found;
}

struct ActiveJob {
  std::uint64_t id = 0;
  bool is_lease = false;
  friend bool operator==(const ActiveJob&, const ActiveJob&) = default;
};

// The active jobs and leases that hold an instance, by its UUID.
std::optional<std::multimap<std::string, ActiveJob>> holders_of_api(Node& node) {
  const auto jobs = node.try_call("GET", "/v1/jobs", std::nullopt);
  if (!jobs) return std::nullopt;
  std::multimap<std::string, ActiveJob> found;
  for (const auto& each : jobs->as_array()) {
    if (!each.at("uuid").is_string()) continue;
    found.emplace(each.at("uuid").as_string(), ActiveJob{each.at("id").to_number<std::uint64_t>(),
                                                         each.at("request").at("kind") == "lease"});
  }
  return found;
}

}  // namespace

SlotObserver::SlotObserver(Node& node)
    : node_(node), thread_([this] {
        while (!stopping_) {
          look();
          ++result_.looks;
          std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
      }) {}

SlotObserver::~SlotObserver() { stop(); }

SlotObserver::Result SlotObserver::stop() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
  return result_;
}

void SlotObserver::add(std::string violation) {
  result_.violations.push_back(std::move(violation));
}

void SlotObserver::look() {
  std::vector<Use> uses;
  for (const pid_t pid : node_.run_processes()) {
    if (auto use = use_of(pid)) uses.push_back(*std::move(use));
  }
  check_shared(uses);
  if (result_.looks % kLooksPerDriverLook == 0) check_driver(uses);
  if (result_.looks % kLooksPerApiLook == 0) check_api(uses);
  if (result_.looks % kLooksPerHistoryLook == 0) check_history();
}

// Processes are read one after another: two of them overlap only if the one that was read first
// still lives after the other was read.
void SlotObserver::check_shared(const std::vector<Use>& uses) {
  std::map<std::string, Use> by_device;
  for (const Use& use : uses) {
    const auto [first, is_new] = by_device.emplace(use.device, use);
    if (is_new || first->second.job == use.job) continue;
    if (is_still(first->second) && is_still(use)) {
      add(cat(text_of(first->second), ", and so does ", text_of(use)));
    }
    first->second = use;
  }
}

void SlotObserver::check_driver(const std::vector<Use>& uses) {
  const auto existing = instances_of_driver(node_);
  if (!existing) return;
  ++result_.driver_looks;
  for (const Use& use : uses) {
    if (!existing->contains(use.device) && is_still(use)) {
      add(cat(text_of(use), ", which the driver does not have"));
    }
  }
}

void SlotObserver::check_api(const std::vector<Use>& uses) {
  const auto before = holders_of_api(node_);
  if (!before) return;
  ++result_.api_looks;
  for (auto at = before->begin(); at != before->end(); ++at) {
    const auto next = std::next(at);
    if (next == before->end() || next->first != at->first) continue;
    add(cat("the API says that jobs ", at->second.id, " and ", next->second.id, " both hold ",
            at->first));
  }
  std::vector<Use> suspects;  // processes that were there before the lease was read, and after
  for (const Use& use : uses) {
    const auto [from, to] = before->equal_range(use.device);
    const bool is_leased =
        std::any_of(from, to, [](const auto& each) { return each.second.is_lease; });
    if (is_leased && is_still(use)) suspects.push_back(use);
  }
  for (const Use& use : suspects) add(cat(text_of(use), ", which a lease holds"));
}

// A job has one end for ever, and is listed for ever: nothing is trimmed within a test.
void SlotObserver::check_history() {
  const auto jobs = node_.try_call("GET", "/v1/jobs?all=1&limit=1000", std::nullopt);
  if (!jobs) return;
  std::map<std::uint64_t, std::string> now;
  for (const auto& each : jobs->as_array()) {
    const auto id = each.at("id").to_number<std::uint64_t>();
    const bool has_ended = !each.at("ended").is_null();
    now[id] = has_ended ? cat(json::serialize(each.at("state")), ", exit code ",
                              json::serialize(each.at("exit_code")), ", at ",
                              json::serialize(each.at("ended")))
                        : "active";
  }
  const bool is_complete = jobs->as_array().size() < 1'000;
  for (const auto& [id, end] : ends_) {
    const auto at = now.find(id);
    if (at == now.end() && !is_complete) continue;
    const std::string is = at == now.end() ? "unknown" : at->second;
    if (is != end) add(cat("job ", id, " had ended: ", end, "; now it is ", is));
  }
  for (const auto& [id, state] : now) {
    if (state != "active") ends_.emplace(id, state);
  }
}

}  // namespace tangram::tests
