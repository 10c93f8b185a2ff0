// See job.hpp: the names of its enumerations.
#include "api/job.hpp"

#include "api/job_words.hpp"
#include "api/words.hpp"

namespace tangram::api {

std::string_view name_of(JobKind kind) { return kKindWords[static_cast<std::size_t>(kind)]; }

std::string_view name_of(Restart restart) {
  return kRestartWords[static_cast<std::size_t>(restart)];
}

std::string_view name_of(JobState state) { return kStateWords[static_cast<std::size_t>(state)]; }

std::string_view name_of(EndpointMode mode) {
  return kEndpointWords[static_cast<std::size_t>(mode)];
}

std::string_view name_of(MoveWay way) { return kMoveWords[static_cast<std::size_t>(way)]; }

EndpointMode endpoint_mode(const JobRequest& request) {
  if (request.kind != JobKind::kService) return EndpointMode::kNone;
  if (request.endpoint.mode) return *request.endpoint.mode;
  return request.probe.kind == Probe::Kind::kHttp ? EndpointMode::kHttp : EndpointMode::kTcp;
}

MoveWay move_way(const JobRequest& request) {
  if (request.move.way) return *request.move.way;
  const bool is_service = request.kind == JobKind::kService;
  const bool tells_ready = request.probe.kind != Probe::Kind::kNone;
  return is_service && tells_ready ? MoveWay::kReplica : MoveWay::kNever;
}

std::optional<JobState> find_state(std::string_view name) {
  const auto place = find_word(name, kStateWords);
  if (!place) return std::nullopt;
  return static_cast<JobState>(*place);
}

}  // namespace tangram::api
