// See crash_point.hpp.
#include "daemon/engine/crash_point.hpp"

#include <csignal>
#include <cstdlib>
#include <string>
#include <string_view>
#include <variant>

#include "base/text.hpp"

namespace tangram::daemon {
namespace {

const std::string& configured_point() {
  static const std::string text = [] {
    const char* value = std::getenv("TANGRAM_CRASH_POINT");
    return std::string(value == nullptr ? "" : value);
  }();
  return text;
}

void crash_if(std::string_view phase, std::string_view name) {
  if (!name.empty() && configured_point() == cat(phase, ":", name)) (void)std::raise(SIGKILL);
}

// Events with a crash point: the submission of a job and the events of a move.
struct EventName {
  std::string_view operator()(const core::JobSubmitted&) const { return "job-submitted"; }
  std::string_view operator()(const core::MoveRequested&) const { return "move-asked"; }
  std::string_view operator()(const core::InstanceCreated&) const { return "instance-created"; }
  std::string_view operator()(const core::JobReady&) const { return "job-ready"; }
  std::string_view operator()(const core::TrafficSwitched&) const { return "traffic-switched"; }
  std::string_view operator()(const core::TrafficDrained&) const { return "traffic-drained"; }
  std::string_view operator()(const core::JobExited&) const { return "job-exited"; }
  std::string_view operator()(const auto&) const { return ""; }
};

struct ActionName {
  std::string_view operator()(const core::CreateInstance&) const { return "create-instance"; }
  std::string_view operator()(const core::StartJob&) const { return "start-job"; }
  std::string_view operator()(const core::SwitchTraffic&) const { return "switch-traffic"; }
  std::string_view operator()(const core::StopJob&) const { return "stop-job"; }
  std::string_view operator()(const auto&) const { return ""; }
};

}  // namespace

void crash_after_step(const core::Event& event) {
  if (!configured_point().empty()) crash_if("stepped", std::visit(EventName(), event));
}

void crash_after_commit(const core::Event& event) {
  if (!configured_point().empty()) crash_if("committed", std::visit(EventName(), event));
}

void crash_after_action(const core::Action& action) {
  if (!configured_point().empty()) crash_if("performed", std::visit(ActionName(), action));
}

void crash_after_action(std::string_view step) {
  if (!configured_point().empty()) crash_if("performed", step);
}

}  // namespace tangram::daemon
