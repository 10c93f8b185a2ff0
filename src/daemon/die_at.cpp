// See die_at.hpp.
#include "daemon/die_at.hpp"

#include <csignal>
#include <cstdlib>
#include <string>
#include <string_view>
#include <variant>

#include "base/text.hpp"

namespace tangram::daemon {
namespace {

const std::string& wanted() {
  static const std::string text = [] {
    const char* value = std::getenv("TANGRAM_DIE_AT");
    return std::string(value == nullptr ? "" : value);
  }();
  return text;
}

void die_if(std::string_view when, std::string_view what) {
  if (!what.empty() && wanted() == cat(when, ":", what)) (void)std::raise(SIGKILL);
}

// The submission of a job, and those that a move goes through.
struct EventName {
  std::string_view operator()(const core::JobSubmitted&) const { return "job-submitted"; }
  std::string_view operator()(const core::MoveAsked&) const { return "move-asked"; }
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

void die_if_stepped(const core::Event& event) {
  if (!wanted().empty()) die_if("stepped", std::visit(EventName(), event));
}

void die_if_committed(const core::Event& event) {
  if (!wanted().empty()) die_if("committed", std::visit(EventName(), event));
}

void die_if_performed(const core::Action& action) {
  if (!wanted().empty()) die_if("performed", std::visit(ActionName(), action));
}

void die_if_performed(std::string_view step) {
  if (!wanted().empty()) die_if("performed", step);
}

}  // namespace tangram::daemon
