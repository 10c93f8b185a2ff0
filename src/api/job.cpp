// See job.hpp: enumeration names and defaults.
#include "api/job.hpp"

#include "api/enum_names.hpp"
#include "api/job_names.hpp"

namespace tangram::api {

std::string_view name_of(JobKind kind) { return kKindNames[static_cast<std::size_t>(kind)]; }

std::string_view name_of(Restart restart) {
  return kRestartNames[static_cast<std::size_t>(restart)];
}

std::string_view name_of(JobState state) { return kStateNames[static_cast<std::size_t>(state)]; }

std::string_view name_of(EndpointMode mode) {
  return kEndpointNames[static_cast<std::size_t>(mode)];
}

std::string_view name_of(MoveMethod way) { return kMoveNames[static_cast<std::size_t>(way)]; }

EndpointMode endpoint_mode(const JobRequest& request) {
  if (request.kind != JobKind::kService) return EndpointMode::kNone;
  if (request.endpoint.mode) return *request.endpoint.mode;
  return request.probe.kind == Probe::Kind::kHttp ? EndpointMode::kHttp : EndpointMode::kTcp;
}

// The daemon stores every submission with a decision. A job without one was submitted to an earlier
// version, which moved services with a probe; it keeps that.
MoveMethod move_method(const JobRequest& request) {
  if (request.move.way) return *request.move.way;
  const bool is_service = request.kind == JobKind::kService;
  const bool has_probe = request.probe.kind != Probe::Kind::kNone;
  return is_service && has_probe ? MoveMethod::kReplica : MoveMethod::kNever;
}

std::optional<JobState> find_state(std::string_view name) {
  const auto index = index_of_name(name, kStateNames);
  if (!index) return std::nullopt;
  return static_cast<JobState>(*index);
}

}  // namespace tangram::api
