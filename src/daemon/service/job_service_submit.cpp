// See job_service.hpp: submission; an idempotency key makes repeating it safe.
#include <utility>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "base/text.hpp"
#include "daemon/access/limits.hpp"
#include "daemon/access/problems.hpp"
#include "daemon/access/user_cache.hpp"
#include "daemon/runs/supervisor.hpp"
#include "daemon/service/dependencies.hpp"
#include "daemon/service/job_service.hpp"
#include "daemon/views/choose_profile.hpp"

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
  row.port = request.port;  // reserved from now on
  row.state = api::name_of(api::JobState::kQueued);
  row.submitted = Clock::wall();
  return row;
}

core::JobSpec spec_of(const store::JobRow& row, const api::JobRequest& request,
                      std::chrono::milliseconds grace) {
  core::JobSpec spec;
  spec.id = core::JobId(row.id);
  spec.profile = row.profile;
  spec.kind =
      request.kind == api::JobKind::kBatch ? core::JobKind::kBatch : core::JobKind::kService;
  spec.movable = api::move_method(request) != api::MoveMethod::kNever;
  spec.restart = static_cast<core::Restart>(request.restart);
  spec.max_restarts = request.max_restarts;
  spec.held = request.hold;
  spec.priority = static_cast<std::int16_t>(request.priority);
  spec.user = row.uid;
  spec.time_limit = request.time_limit;
  spec.stop_grace = request.grace.value_or(grace);
  spec.gpu_model = request.gpu_model;
  return spec;
}

}  // namespace

void JobService::submit(const Caller& caller, const api::JobRequest& requested,
                        const http::IdempotencyKey& idempotency,
                        const Reply<http::ApiHandlers::Submitted>& reply) {
  if (const auto admitted = access_.admit_submission(caller); !admitted) {
    reply(std::unexpected(admitted.error()));
    return;
  }
  if (!idempotency.key.empty() && answer_if_repeated(caller, idempotency, reply)) return;
  const auto time_limit = limits_.time_limit_of(caller, requested.kind, requested.time_limit);
  if (!time_limit) {
    reply(std::unexpected(time_limit.error()));
    return;
  }
  api::JobRequest decided = requested;
  decided.time_limit = *time_limit;
  decided.move.way = decide_move(requested);
  submit_decided(caller, decided, idempotency, reply);
}

// Without consent nothing is moved: the memory of a moved service is lost. Batch jobs say how.
api::MoveMethod JobService::decide_move(const api::JobRequest& request) const {
  if (request.move.way) return *request.move.way;
  const bool is_service = request.kind == api::JobKind::kService;
  const bool has_probe = request.probe.kind != api::Probe::Kind::kNone;
  return is_service && has_probe ? move_services_ : api::MoveMethod::kNever;
}

void JobService::submit_decided(const Caller& caller, const api::JobRequest& request,
                                const http::IdempotencyKey& idempotency,
                                const Reply<http::ApiHandlers::Submitted>& reply) {
  const auto profile = choose_profile(engine_.scheduler().node(), request.profile,
                                      request.gpu_memory_mib, request.gpu_model);
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
  if (const auto may = limits_.admit_priority(caller, request.priority); !may) {
    reply(std::unexpected(may.error()));
    return;
  }
  const auto standing = dependencies_.standing_of(request.after);
  if (!standing) {
    reply(std::unexpected(standing.error()));
    return;
  }
  store::JobRow row = row_of(caller, request, *profile);
  row.waits_for = api::stored_dependencies(standing->pending);
  const std::size_t tasks = request.array ? request.array->indices.size() : 1;
  const Limits::Beginning beginning{.held = request.hold,
                                    .waits = !standing->pending.empty(),
                                    .tasks = static_cast<std::uint32_t>(tasks)};
  const auto admission = limits_.admit(caller, row, beginning);
  if (!admission) {
    reply(std::unexpected(admission.error()));
    return;
  }
  const bool is_dependent = beginning.waits || !standing->failure.empty();
  NewJobs made = new_jobs(caller, request, std::move(row), is_dependent, admission->over_limit);
  made.failure = standing->failure;
  post(std::move(made), idempotency, reply);
}

// Gives them IDs and counts them for the limits. The ID of an array is that before its first
// task's.
JobService::NewJobs JobService::new_jobs(const Caller& caller, const api::JobRequest& request,
                                         store::JobRow row, bool dependent, bool over_limit) {
  NewJobs made{.jobs = {}, .array = {}, .move = api::move_method(request), .failure = {}};
  const std::size_t tasks = request.array ? request.array->indices.size() : 1;
  const std::size_t most = request.array ? request.array->most_active : 0;
  const std::uint64_t bytes = (row.request.size() + tasks - 1) / tasks;
  if (request.array) {
    made.array = {.id = engine_.allocate_job_id(),
                  .uid = row.uid,
                  .user = row.user,
                  .name = row.name,
                  .profile = row.profile,
                  .spec = api::array_text(*request.array),
                  .tasks = tasks,
                  .first = 0,
                  .request = std::exchange(row.request, {})};
    row.array = made.array->id;
  }
  for (std::size_t i = 0; i < tasks; ++i) {
    row.id = engine_.allocate_job_id();
    if (request.array) row.array_index = request.array->indices[i];
    core::JobSpec spec = spec_of(row, request, supervisor_.default_grace());
    spec.dependent = dependent;
    spec.array_full = most != 0 && i >= most;
    const bool waits = spec.dependent || spec.array_full;
    spec.over_limit = !waits && (i == 0 ? over_limit : limits_.is_over_limit(caller, row));
    limits_.add_pending(row, {.held = spec.held || spec.over_limit, .waits = waits}, bytes);
    made.jobs.emplace_back(row, spec);
  }
  if (made.array) made.array->first = made.jobs.front().first.id;
  return made;
}

// All in one transaction; the first is answered for all.
void JobService::post(NewJobs made, const http::IdempotencyKey& idempotency,
                      const Reply<http::ApiHandlers::Submitted>& reply) {
  const store::JobRow& first = made.jobs.front().first;
  http::ApiHandlers::Submitted submitted{.id = made.array ? made.array->id : first.id,
                                         .move = made.move};
  if (made.array) submitted.array = {.first = first.id, .count = made.jobs.size()};
  const std::pair<std::uint32_t, std::string> key(first.uid, idempotency.key);
  if (!idempotency.key.empty())
    pending_submissions_[key] = {.fingerprint = idempotency.fingerprint, .repeats = {}};
  const std::optional<std::uint16_t> port = first.port;
  if (port) pending_ports_[*port] = first.id;
  const store::SubmissionRow submission{.uid = first.uid,
                                        .key = idempotency.key,
                                        .fingerprint = idempotency.fingerprint,
                                        .job = submitted.id,
                                        .wall = first.submitted};
  const auto done = [this, reply, key, port, submitted](const Result<void>& result) {
    if (port) pending_ports_.erase(*port);
    const auto answer = [&](bool repeated) -> Answer<http::ApiHandlers::Submitted> {
      if (!result) return std::unexpected(unavailable(result.error().message));
      http::ApiHandlers::Submitted made_now = submitted;
      made_now.replayed = repeated;
      return made_now;
    };
    const PendingSubmission pending = std::exchange(pending_submissions_[key], {});
    pending_submissions_.erase(key);
    reply(answer(false));
    for (const auto& repeat : pending.repeats) repeat(answer(true));
  };
  for (std::size_t i = 0; i < made.jobs.size(); ++i) {
    const std::uint64_t id = made.jobs[i].first.id;
    post_submission(made, i, submission, i == 0 ? done : std::function<void(Result<void>)>());
    if (made.failure.empty()) continue;
    Input end = Dependencies::cancellation_of(id, made.failure);
    end.may_be_refused = true;
    end.joined = true;
    engine_.post(std::move(end));
  }
}

void JobService::post_submission(NewJobs& made, std::size_t i,
                                 const store::SubmissionRow& submission,
                                 std::function<void(const Result<void>&)> done) {
  auto& [row, spec] = made.jobs[i];
  const std::uint64_t id = row.id;
  std::function<void(JobTable&)> edit = [put_row = std::move(row)](JobTable& records) {
    records.put(put_row);
  };
  if (i == 0) {
    edit = [put_job = std::move(edit), submission, array = made.array](JobTable& records) {
      if (array) records.put(*array);
      put_job(records);
      if (!submission.key.empty()) records.put(submission);
    };
  }
  engine_.post(Input{.event = core::JobSubmitted{spec},
                     .edit_rows = std::move(edit),
                     .done =
                         [this, id, done = std::move(done)](const Result<void>& result) {
                           if (!result) limits_.remove_pending(id);
                           if (done) done(result);
                         },
                     .may_be_refused = true,
                     .joined = i > 0});
}

// A key that was used before: replies with the same job, also while that is not durable yet.
bool JobService::answer_if_repeated(const Caller& caller, const http::IdempotencyKey& idempotency,
                                    const Reply<http::ApiHandlers::Submitted>& reply) {
  const auto refuse = [&](const std::string& what) {
    reply(
        std::unexpected(key_reused(cat("idempotency key ", tangram::quoted(idempotency.key),
                                       " was used for ", what, ": use a new key for a new job."))));
  };
  if (const auto at = pending_submissions_.find({caller.uid, idempotency.key});
      at != pending_submissions_.end()) {
    if (at->second.fingerprint != idempotency.fingerprint) {
      refuse("another request");
    } else {
      at->second.repeats.push_back(reply);
    }
    return true;
  }
  const auto before = engine_.store().submission(caller.uid, idempotency.key);
  if (!before) {
    reply(std::unexpected(unavailable(before.error().message)));
    return true;
  }
  if (!*before) return false;
  if ((*before)->fingerprint != idempotency.fingerprint) {
    refuse(cat("another request, which became job ", (*before)->job));
  } else {
    reply(replayed((*before)->job));
  }
  return true;
}

http::ApiHandlers::Submitted JobService::replayed(std::uint64_t job) const {
  http::ApiHandlers::Submitted before{.id = job, .replayed = true};
  const auto array = engine_.store().array(job);
  if (array && *array) before.array = {.first = (*array)->first, .count = (*array)->tasks};
  const auto row = engine_.store().job(before.array ? before.array->first : job);
  if (!row || !*row) return before;
  boost::system::error_code bad;
  const boost::json::value document = boost::json::parse((*row)->request, bad);
  if (bad) return before;
  if (const auto request = api::read_job_request(document)) {
    before.move = api::move_method(*request);
  }
  return before;
}

http::Answer<void> JobService::check_servable(const api::JobRequest& request) const {
  const bool own_port = request.port && api::endpoint_mode(request) == api::EndpointMode::kNone;
  if (own_port && api::move_method(request) != api::MoveMethod::kNever) {
    return std::unexpected(unservable(
        "a service with a port and no endpoint cannot be moved, because its replica would need the "
        "same port: omit the port, add an endpoint, or use --move never."));
  }
  if ((request.cpu_percent && !cgroups_.cpu) || (request.memory_bytes && !cgroups_.memory)) {
    return std::unexpected(
        unservable(cat("CPU and memory limits are not available: ", cgroups_.why_not,
                       ". Submit without them, or run tangramd as a service of systemd.")));
  }
  return {};
}

// A service's port is its address, so it is unique among active services, also queued ones.
http::Answer<void> JobService::check_port(const Caller& caller,
                                          const api::JobRequest& request) const {
  constexpr std::uint16_t kFirstForAll = 1024;
  if (!request.port) return {};
  if (*request.port < kFirstForAll && !access_.is_admin(caller)) {
    return std::unexpected(forbidden(cat("ports below ", kFirstForAll,
                                         " are for admins: use a higher one, or omit the ",
                                         "port to have one assigned.")));
  }
  const auto taken = [&](std::uint64_t job) {
    return std::unexpected(conflict(cat("port ", *request.port, " is in use by job ", job,
                                        ": use another one, or omit the port to have one "
                                        "assigned.")));
  };
  if (const auto at = pending_ports_.find(*request.port); at != pending_ports_.end()) {
    return taken(at->second);
  }
  for (const auto& [id, row] : engine_.records().jobs()) {
    const bool active_service = !row.over && row.kind == api::name_of(api::JobKind::kService);
    if (active_service && row.port == request.port) return taken(id);
  }
  return {};
}

}  // namespace tangram::daemon
