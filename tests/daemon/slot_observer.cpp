// See slot_observer.hpp.
#include "slot_observer.hpp"

#include <chrono>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "base/text.hpp"

namespace tangram::tests {
namespace {

struct Use {
  pid_t pid = 0;
  std::string job;
  std::string device;
  friend bool operator==(const Use&, const Use&) = default;
};

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

}  // namespace

SlotObserver::SlotObserver(const Node& node)
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

// Processes are read one after another: two of them overlap only if the one that was read first
// still lives after the other was read.
void SlotObserver::look() {
  std::map<std::string, Use> by_device;
  for (const pid_t pid : node_.run_processes()) {
    const auto use = use_of(pid);
    if (!use) continue;
    const auto [first, is_new] = by_device.emplace(use->device, *use);
    if (is_new || first->second.job == use->job) continue;
    if (use_of(first->second.pid) == first->second && use_of(pid) == use) {
      result_.violations.push_back(cat("jobs ", first->second.job, " (process ", first->second.pid,
                                       ") and ", use->job, " (process ", pid, ") both use ",
                                       use->device));
    }
    first->second = *use;
  }
}

}  // namespace tangram::tests
