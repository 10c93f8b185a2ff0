// See routes.hpp.
#include "http/routes/routes.hpp"

#include <algorithm>
#include <charconv>
#include <exception>
#include <vector>

#include "base/text.hpp"
#include "http/routes/identity.hpp"
#include "http/routes/route_handlers.hpp"

namespace tangram::http {
namespace {

constexpr Route kRoutes[] = {
    {"POST", "/v1/jobs", post_job, Needs::kWrite},
    {"GET", "/v1/jobs", get_jobs, Needs::kRead},
    {"GET", "/v1/jobs/{id}", get_job, Needs::kRead, DurabilityNeed::kJob},
    {"POST", "/v1/jobs/{id}/cancel", post_cancel, Needs::kWrite},
    {"POST", "/v1/jobs/{id}/hold", post_hold, Needs::kWrite},
    {"POST", "/v1/jobs/{id}/release", post_release, Needs::kWrite},
    {"POST", "/v1/jobs/{id}/requeue", post_requeue, Needs::kWrite},
    {"POST", "/v1/jobs/{id}/signal", post_signal, Needs::kWrite},
    {"POST", "/v1/jobs/{id}/move", post_move, Needs::kWrite},
    {"GET", "/v1/jobs/{id}/wait", get_wait, Needs::kRead, DurabilityNeed::kJob},
    {"GET", "/v1/jobs/{id}/logs", get_logs, Needs::kRead, DurabilityNeed::kJob},
    {"GET", "/v1/arrays/{id}", get_array, Needs::kRead},
    {"POST", "/v1/arrays/{id}/cancel", post_array_cancel, Needs::kWrite},
    {"POST", "/v1/arrays/{id}/hold", post_array_hold, Needs::kWrite},
    {"POST", "/v1/arrays/{id}/release", post_array_release, Needs::kWrite},
    {"GET", "/v1/explain/{id}", get_explanation, Needs::kRead},
    {"GET", "/v1/what-if", get_what_if, Needs::kRead},
    {"POST", "/v1/leases", post_lease, Needs::kWrite, DurabilityNeed::kNothing},
    {"GET", "/v1/leases", get_leases, Needs::kRead},
    {"DELETE", "/v1/leases", delete_leases, Needs::kWrite},
    {"GET", "/v1/leases/{id}", get_lease, Needs::kRead},
    {"POST", "/v1/leases/{id}/renew", post_renew, Needs::kWrite, DurabilityNeed::kNothing},
    {"DELETE", "/v1/leases/{id}", delete_lease, Needs::kWrite},
    {"GET", "/v1/gpus", get_gpus, Needs::kRead},
    {"POST", "/v1/gpus/{id}/cordon", post_cordon, Needs::kAdmin},
    {"POST", "/v1/gpus/{id}/uncordon", post_uncordon, Needs::kAdmin},
    {"POST", "/v1/gpus/{id}/drain", post_drain, Needs::kAdmin},
    {"GET", "/v1/defrag", get_defrag, Needs::kRead},
    {"GET", "/v1/tuning", get_tuning, Needs::kRead},
    {"PATCH", "/v1/tuning", patch_tuning, Needs::kAdmin},
    {"GET", "/v1/events", get_events, Needs::kRead, DurabilityNeed::kNothing},
    {"GET", "/v1/history", get_history, Needs::kRead},
    {"GET", "/v1/usage", get_usage, Needs::kRead},
    {"POST", "/v1/tokens", post_token, Needs::kWrite},
    {"GET", "/v1/tokens", get_tokens, Needs::kRead},
    {"DELETE", "/v1/tokens/{id}", delete_token, Needs::kWrite},
    {"GET", "/v1/node/orphans", get_orphans, Needs::kAdmin},
    {"DELETE", "/v1/node/orphans/{id}", delete_orphan, Needs::kAdmin},
    {"GET", "/v1/status", get_status, Needs::kRead},
    {"GET", "/metrics", get_metrics, Needs::kRead},
    {"GET", "/healthz", get_health, Needs::kNothing, DurabilityNeed::kNothing},
    {"GET", "/readyz", get_ready, Needs::kNothing, DurabilityNeed::kNothing},
};

// Removes and returns the first segment, up to the next '/'.
std::string_view take_segment(std::string_view& path) {
  const std::size_t end = std::min(path.find('/', 1), path.size());
  const std::string_view segment = path.substr(0, end);
  path.remove_prefix(end);
  return segment;
}

// Returns the text for {id} if the path matches the pattern; empty if the pattern has no {id}.
std::optional<std::string_view> match(std::string_view pattern, std::string_view path) {
  std::string_view id;
  while (!pattern.empty() && !path.empty()) {
    const std::string_view expected = take_segment(pattern);
    const std::string_view actual = take_segment(path);
    if (expected == "/{id}" && actual.size() > 1) {
      id = actual.substr(1);
    } else if (expected != actual) {
      return std::nullopt;
    }
  }
  if (!pattern.empty() || !path.empty()) return std::nullopt;
  return id;
}

std::optional<std::uint64_t> parse_id(std::string_view text) {
  std::uint64_t id = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (status != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return id;
}

// Returns the kind of object that {id} of the pattern identifies.
std::string_view noun_of(const Route& route) {
  if (route.pattern.starts_with("/v1/gpus")) return "gpu";
  if (route.pattern.starts_with("/v1/arrays")) return "array";
  if (route.pattern.starts_with("/v1/leases")) return "lease";
  if (route.pattern.starts_with("/v1/tokens")) return "token";
  if (route.pattern.starts_with("/v1/node/orphans")) return "orphan";
  return "job";
}

std::string_view method_of(const Request& request) {
  return request.method == "HEAD" ? "GET" : std::string_view(request.method);
}

Response not_found(const Request& request) {
  return problem_response(
      problem(404, "no-such-route",
              cat("path not found: ", quoted(request.path), ". Try /v1/status or /v1/jobs.")));
}

Response not_a_number(const Route& route, std::string_view id) {
  const std::string_view noun = noun_of(route);
  return problem_response(
      problem(404, cat("no-such-", noun),
              cat(noun, ' ', quoted(id), ": not found; use the number of the ", noun)));
}

Response not_allowed(const Request& request, const std::vector<std::string>& methods) {
  Response response =
      problem_response(problem(405, "method-not-allowed",
                               cat("method ", quoted(request.method), " is not allowed for ",
                                   quoted(request.path), ": use ", join_words(methods))));
  std::string allow;
  for (const std::string& method : methods) allow += cat(allow.empty() ? "" : ", ", method);
  response.headers.emplace_back("Allow", allow);
  return response;
}

// Runs `act` and turns exceptions into responses: 501 for a handler that is not set, else 500.
template <class Act, class ToResult>
auto guarded(const Act& act, const ToResult& otherwise) {
  try {
    return act();
  } catch (const std::bad_function_call&) {
    return otherwise(
        problem_response(problem(501, "not-implemented", "not implemented by this daemon")));
  } catch (const std::exception& error) {
    return otherwise(problem_response(
        problem(500, "internal-error", cat("internal error: ", printable(error.what())))));
  }
}

DeferredResponse guarded(DeferredResponse deferred) {
  deferred.start = [start = std::move(deferred.start)](const Respond& respond) {
    return guarded([&] { return start(respond); },
                   [&](Response response) -> std::shared_ptr<void> {
                     respond(std::move(response));
                     return nullptr;
                   });
  };
  return deferred;
}

struct Found {
  const Route* route = nullptr;
  Response otherwise;
};

Found find_route(Request& request) {
  std::vector<std::string> methods;
  for (const Route& route : kRoutes) {
    const auto id = match(route.pattern, request.path);
    if (!id) continue;
    if (route.method != method_of(request)) {
      methods.emplace_back(route.method);
      if (route.method == "GET") methods.emplace_back("HEAD");
      continue;
    }
    if (id->empty()) return {&route, {}};
    const auto number = parse_id(*id);
    if (!number) return {nullptr, not_a_number(route, *id)};
    request.id = *number;
    return {&route, {}};
  }
  return {nullptr, methods.empty() ? not_found(request) : not_allowed(request, methods)};
}

// Unknown paths need a token, too: unauthenticated clients must not learn which paths exist.
Needs needs_of(const Found& found) {
  return found.route == nullptr ? Needs::kRead : found.route->needs;
}

Outcome outcome_of(const ApiHandlers& handlers, Request& request) {
  const Found found = find_route(request);
  if (!request.is_authorized) {
    if (auto ok = authenticate(handlers, request, needs_of(found)); !ok)
      return unauthorized(ok.error());
  }
  if (found.route == nullptr) return found.otherwise;
  return found.route->handler(handlers, request);
}

// Adds the audit record of the response, also of one that is given after the client has left.
Outcome audited(const ApiHandlers& handlers, const Request& request, Outcome outcome) {
  if (!handlers.on_answered || method_of(request) == "GET") return outcome;
  const auto audit = [on_answered = handlers.on_answered, caller = request.caller,
                      method = request.method,
                      path = request.path](int status, std::string_view what) {
    on_answered(caller, method, path, status, what);
  };
  if (const Response* response = std::get_if<Response>(&outcome)) {
    audit(response->status, response->what);
  }
  if (DeferredResponse* deferred = std::get_if<DeferredResponse>(&outcome)) {
    deferred->audit = audit;
    deferred->start = [start = std::move(deferred->start), audit](const Respond& respond) {
      return start([respond, audit](Response response) {
        audit(response.status, response.what);
        respond(std::move(response));
      });
    };
  }
  return outcome;
}

}  // namespace

std::span<const Route> routes() { return kRoutes; }

std::optional<Response> check_access(const ApiHandlers& handlers, Request& request) {
  auto rejection = guarded(
      [&]() -> std::optional<Response> {
        const Found found = find_route(request);
        const Needs needs = needs_of(found);
        request.is_public = needs == Needs::kNothing;
        request.durability =
            found.route == nullptr ? DurabilityNeed::kNothing : found.route->durability;
        auto ok = authenticate(handlers, request, needs);
        request.is_authorized = ok.has_value();
        if (request.is_authorized) return std::nullopt;
        return unauthorized(ok.error());
      },
      [](Response response) { return std::optional(std::move(response)); });
  if (rejection) static_cast<void>(audited(handlers, request, *rejection));
  return rejection;
}

Outcome answer(const ApiHandlers& handlers, Request& request) {
  Outcome outcome = guarded([&] { return outcome_of(handlers, request); },
                            [](Response response) { return Outcome(std::move(response)); });
  if (DeferredResponse* deferred = std::get_if<DeferredResponse>(&outcome)) {
    *deferred = guarded(std::move(*deferred));
  }
  return audited(handlers, request, std::move(outcome));
}

std::size_t max_body_size(std::string_view method, std::string_view path,
                          std::size_t max_job_size) {
  constexpr std::size_t kMaxOtherSize = std::size_t{64} << 10U;
  const bool is_job = method == "POST" && path.substr(0, path.find('?')) == "/v1/jobs";
  return is_job ? max_job_size : std::min(max_job_size, kMaxOtherSize);
}

}  // namespace tangram::http
