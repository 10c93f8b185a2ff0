// See reception.hpp: jobs submitted, each once however often its caller asks.
#include <utility>

#include <boost/json/serialize.hpp>

#include "base/text.hpp"
#include "daemon/choose_profile.hpp"
#include "daemon/limits.hpp"
#include "daemon/problems.hpp"
#include "daemon/reception.hpp"
#include "daemon/users.hpp"

namespace tangram::daemon {
namespace {

store::JobRow row_of(const http::Caller& caller, const api::JobRequest& request,
                     const std::string& profile) {
  store::JobRow row;
  row.uid = caller.uid;
  row.user = user_name(caller.uid);
  row.kind = api::name_of(request.kind);
  row.request = boost::json::serialize(api::to_json(request));
  row.name = api::job_name(request);
  row.profile = profile;
  row.labels = api::labels_text(request.labels);
  row.port = request.port;  // where it will be found; taken from now on
  row.state = api::name_of(api::JobState::kQueued);
  row.submitted = Clock::wall();
  return row;
}

core::JobSpec spec_of(const store::JobRow& row, const api::JobRequest& request) {
  core::JobSpec spec;
  spec.id = core::JobId(row.id);
  spec.profile = row.profile;
  spec.kind =
      request.kind == api::JobKind::kBatch ? core::JobKind::kBatch : core::JobKind::kService;
  spec.movable = api::move_way(request) != api::MoveWay::kNever;
  spec.restart = static_cast<core::Restart>(request.restart);
  spec.max_restarts = request.max_restarts;
  spec.held = request.hold;
  return spec;
}

}  // namespace

void Reception::submit(const Caller& caller, const api::JobRequest& request, const http::Once& once,
                       const Reply<http::Doors::Submitted>& reply) {
  if (const auto admitted = access_.admit_submission(caller); !admitted) {
    reply(std::unexpected(admitted.error()));
    return;
  }
  if (!once.key.empty() && was_asked(caller, once, reply)) return;
  const auto profile =
      choose_profile(engine_.scheduler().node(), request.profile, request.gpu_memory_mib);
  if (!profile) {
    reply(std::unexpected(profile.error()));
    return;
  }
  if (const auto servable = check_servable(request); !servable) {
    reply(std::unexpected(servable.error()));
    return;
  }
  if (const auto may = check_port(caller, request); !may) {
    reply(std::unexpected(may.error()));
    return;
  }
  const auto admission = limits_.admit(caller, caller.uid, *profile);
  if (!admission) {
    reply(std::unexpected(admission.error()));
    return;
  }
  store::JobRow row = row_of(caller, request, *profile);
  row.id = engine_.next_job();
  core::JobSpec spec = spec_of(row, request);
  spec.over_limit = admission->over_limit;
  limits_.coming(row.id, row.uid, row.profile, spec.held || spec.over_limit);
  post(std::move(row), spec, once, reply);
}

void Reception::post(store::JobRow row, const core::JobSpec& spec, const http::Once& once,
                     const Reply<http::Doors::Submitted>& reply) {
  const std::uint64_t id = row.id;
  const std::pair<std::uint32_t, std::string> key(row.uid, once.key);
  if (!once.key.empty()) submissions_[key] = {.fingerprint = once.fingerprint, .others = {}};
  const std::optional<std::uint16_t> port = row.port;
  if (port) ports_coming_[*port] = id;
  const store::SubmissionRow submission{.uid = row.uid,
                                        .key = once.key,
                                        .fingerprint = once.fingerprint,
                                        .job = id,
                                        .wall = row.submitted};
  engine_.post(Input{.event = core::JobSubmitted{spec},
                     .note =
                         [row = std::move(row), submission](Records& records) {
                           records.put(row);
                           if (!submission.key.empty()) records.put(submission);
                         },
                     .done =
                         [this, reply, id, key, port](const Result<void>& result) {
                           if (!result) limits_.not_coming(id);
                           if (port) ports_coming_.erase(*port);
                           const auto answer = [&](bool again) -> Answer<http::Doors::Submitted> {
                             if (result) return http::Doors::Submitted{.id = id, .again = again};
                             return std::unexpected(unavailable(result.error().message));
                           };
                           const Submission mine = std::exchange(submissions_[key], {});
                           submissions_.erase(key);
                           reply(answer(false));
                           for (const auto& other : mine.others) other(answer(true));
                         },
                     .wish = true});
}

// The same key as before: the same job, also while that is still on its way to the disk.
bool Reception::was_asked(const Caller& caller, const http::Once& once,
                          const Reply<http::Doors::Submitted>& reply) {
  const auto refuse = [&](const std::string& what) {
    reply(std::unexpected(
        key_reused(cat("the idempotency key ", tangram::quoted(once.key), " was used for ", what,
                       ". Use another key for another job."))));
  };
  if (const auto at = submissions_.find({caller.uid, once.key}); at != submissions_.end()) {
    if (at->second.fingerprint != once.fingerprint) {
      refuse("another request");
    } else {
      at->second.others.push_back(reply);
    }
    return true;
  }
  const auto before = engine_.store().submission(caller.uid, once.key);
  if (!before) {
    reply(std::unexpected(unavailable(before.error().message)));
    return true;
  }
  if (!*before) return false;
  if ((*before)->fingerprint != once.fingerprint) {
    refuse(cat("another request, which became job ", (*before)->job));
  } else {
    reply(http::Doors::Submitted{.id = (*before)->job, .again = true});
  }
  return true;
}

http::Answer<void> Reception::check_servable(const api::JobRequest& request) const {
  const bool own_port = request.port && api::endpoint_mode(request) == api::EndpointMode::kNone;
  if (own_port && api::move_way(request) != api::MoveWay::kNever) {
    return std::unexpected(unserved(
        "a service with a port of its own and no endpoint cannot be moved: its replica could not "
        "listen beside it. Leave the port out, give it an endpoint, or pin it."));
  }
  if ((request.cpu_percent && !cgroups_.cpu) || (request.memory_bytes && !cgroups_.memory)) {
    return std::unexpected(
        unserved(cat("limits of CPU and memory cannot be set here: ", cgroups_.why_not,
                     ". Submit without them, or run tangramd under systemd with Delegate=yes.")));
  }
  return {};
}

// The port of a service is its address: no two living ones have the same, also while they wait.
http::Answer<void> Reception::check_port(const Caller& caller,
                                         const api::JobRequest& request) const {
  constexpr std::uint16_t kFirstForAll = 1024;
  if (!request.port) return {};
  if (*request.port < kFirstForAll && !access_.is_admin(caller)) {
    return std::unexpected(
        forbidden(cat("ports below ", kFirstForAll, " are the admins'; take port ", kFirstForAll,
                      " or a higher one, or leave it to the daemon.")));
  }
  const auto taken = [&](std::uint64_t job) {
    return std::unexpected(conflict(cat("port ", *request.port, " is the address of job ", job,
                                        ", which is not over; take another one, or leave it to the "
                                        "daemon.")));
  };
  if (const auto at = ports_coming_.find(*request.port); at != ports_coming_.end()) {
    return taken(at->second);
  }
  for (const auto& [id, row] : engine_.records().jobs()) {
    const bool living_service = !row.over && row.kind == api::name_of(api::JobKind::kService);
    if (living_service && row.port == request.port) return taken(id);
  }
  return {};
}

}  // namespace tangram::daemon
