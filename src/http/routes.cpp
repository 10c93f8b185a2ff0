// See routes.hpp.
#include "http/routes.hpp"

#include <algorithm>
#include <charconv>
#include <exception>
#include <vector>

#include "base/text.hpp"
#include "http/handlers.hpp"
#include "http/identity.hpp"

namespace tangram::http {
namespace {

constexpr Route kRoutes[] = {
    {"POST", "/v1/jobs", Needs::kWrite, post_job},
    {"GET", "/v1/jobs", Needs::kRead, get_jobs},
    {"GET", "/v1/jobs/{id}", Needs::kRead, get_job, Concern::kJob},
    {"POST", "/v1/jobs/{id}/cancel", Needs::kWrite, post_cancel},
    {"POST", "/v1/jobs/{id}/hold", Needs::kWrite, post_hold},
    {"POST", "/v1/jobs/{id}/release", Needs::kWrite, post_release},
    {"POST", "/v1/jobs/{id}/signal", Needs::kWrite, post_signal},
    {"POST", "/v1/jobs/{id}/move", Needs::kWrite, post_move},
    {"GET", "/v1/jobs/{id}/wait", Needs::kRead, get_wait, Concern::kJob},
    {"GET", "/v1/jobs/{id}/logs", Needs::kRead, get_logs, Concern::kJob},
    {"GET", "/v1/explain/{id}", Needs::kRead, get_explanation},
    {"GET", "/v1/what-if", Needs::kRead, get_what_if},
    {"POST", "/v1/leases", Needs::kWrite, post_lease, Concern::kNothing},
    {"GET", "/v1/leases", Needs::kRead, get_leases},
    {"DELETE", "/v1/leases", Needs::kWrite, delete_leases},
    {"GET", "/v1/leases/{id}", Needs::kRead, get_lease},
    {"POST", "/v1/leases/{id}/renew", Needs::kWrite, post_renew, Concern::kNothing},
    {"DELETE", "/v1/leases/{id}", Needs::kWrite, delete_lease},
    {"GET", "/v1/gpus", Needs::kRead, get_gpus},
    {"POST", "/v1/gpus/{id}/cordon", Needs::kAdmin, post_cordon},
    {"POST", "/v1/gpus/{id}/uncordon", Needs::kAdmin, post_uncordon},
    {"POST", "/v1/gpus/{id}/drain", Needs::kAdmin, post_drain},
    {"GET", "/v1/defrag", Needs::kRead, get_defrag},
    {"GET", "/v1/tuning", Needs::kRead, get_tuning},
    {"PATCH", "/v1/tuning", Needs::kAdmin, patch_tuning},
    {"GET", "/v1/events", Needs::kRead, get_events, Concern::kNothing},
    {"GET", "/v1/history", Needs::kRead, get_history},
    {"GET", "/v1/usage", Needs::kRead, get_usage},
    {"POST", "/v1/tokens", Needs::kWrite, post_token},
    {"GET", "/v1/tokens", Needs::kRead, get_tokens},
    {"DELETE", "/v1/tokens/{id}", Needs::kWrite, delete_token},
    {"GET", "/v1/status", Needs::kRead, get_status},
    {"GET", "/metrics", Needs::kRead, get_metrics},
    {"GET", "/healthz", Needs::kNothing, get_health, Concern::kNothing},
    {"GET", "/readyz", Needs::kNothing, get_ready, Concern::kNothing},
};

// The part before the next '/', taken from the front.
std::string_view take_part(std::string_view& path) {
  const std::size_t end = std::min(path.find('/', 1), path.size());
  const std::string_view part = path.substr(0, end);
  path.remove_prefix(end);
  return part;
}

// What stands for {id}, if the path has the pattern's form; empty for a pattern without one.
std::optional<std::string_view> match(std::string_view pattern, std::string_view path) {
  std::string_view id;
  while (!pattern.empty() && !path.empty()) {
    const std::string_view wanted = take_part(pattern);
    const std::string_view found = take_part(path);
    if (wanted == "/{id}" && found.size() > 1) {
      id = found.substr(1);
    } else if (wanted != found) {
      return std::nullopt;
    }
  }
  if (!pattern.empty() || !path.empty()) return std::nullopt;
  return id;
}

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t id = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (status != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return id;
}

// What the {id} of a pattern is the number of.
std::string_view noun_of(const Route& route) {
  if (route.pattern.starts_with("/v1/gpus")) return "gpu";
  if (route.pattern.starts_with("/v1/leases")) return "lease";
  if (route.pattern.starts_with("/v1/tokens")) return "token";
  return "job";
}

std::string_view method_of(const Request& request) {
  return request.method == "HEAD" ? "GET" : std::string_view(request.method);
}

Response not_found(const Request& request) {
  return problem_response(
      problem(404, "no-such-route",
              cat("there is nothing at ", quoted(request.path), "; try /v1/status or /v1/jobs.")));
}

Response not_a_number(const Route& route, std::string_view id) {
  const std::string_view noun = noun_of(route);
  return problem_response(problem(
      404, cat("no-such-", noun),
      cat("there is no ", noun, ' ', quoted(id), "; a ", noun, " is named by its number.")));
}

Response not_allowed(const Request& request, const std::vector<std::string>& methods) {
  Response response = problem_response(
      problem(405, "method-not-allowed",
              cat(quoted(request.method), " is not possible at ", quoted(request.path),
                  "; possible is ", join_words(methods), ".")));
  std::string allow;
  for (const std::string& method : methods) allow += cat(allow.empty() ? "" : ", ", method);
  response.headers.emplace_back("Allow", allow);
  return response;
}

// What goes wrong inside is an answer too.
template <class Act, class Answered>
auto guarded(const Act& act, const Answered& otherwise) {
  try {
    return act();
  } catch (const std::bad_function_call&) {
    return otherwise(problem_response(
        problem(501, "not-implemented", "this daemon does not offer what was asked for.")));
  } catch (const std::exception& error) {
    return otherwise(problem_response(
        problem(500, "internal-error", cat("internal error: ", printable(error.what())))));
  }
}

Later guarded(Later later) {
  later.ask = [ask = std::move(later.ask)](const Respond& respond) {
    return guarded([&] { return ask(respond); },
                   [&](Response response) -> std::shared_ptr<void> {
                     respond(std::move(response));
                     return nullptr;
                   });
  };
  return later;
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
    const auto number = number_of(*id);
    if (!number) return {nullptr, not_a_number(route, *id)};
    request.id = *number;
    return {&route, {}};
  }
  return {nullptr, methods.empty() ? not_found(request) : not_allowed(request, methods)};
}

// Nobody learns what there is and what not before he has said who he is.
Needs needs_of(const Found& found) {
  return found.route == nullptr ? Needs::kRead : found.route->needs;
}

Outcome outcome_of(const Doors& doors, Request& request) {
  const Found found = find_route(request);
  if (!request.is_admitted) {
    if (auto ok = identify(doors, request, needs_of(found)); !ok) return unauthorized(ok.error());
  }
  if (found.route == nullptr) return found.otherwise;
  return found.route->handler(doors, request);
}

// Tells the audit log also of what is answered after the client has left.
Outcome told(const Doors& doors, const Request& request, Outcome outcome) {
  if (!doors.answered || method_of(request) == "GET") return outcome;
  const auto tell = [answered = doors.answered, caller = request.caller, method = request.method,
                     path = request.path](int status, std::string_view what) {
    answered(caller, method, path, status, what);
  };
  if (const Response* response = std::get_if<Response>(&outcome)) {
    tell(response->status, response->what);
  }
  if (Later* later = std::get_if<Later>(&outcome)) {
    later->tell = tell;
    later->ask = [ask = std::move(later->ask), tell](const Respond& respond) {
      return ask([respond, tell](Response response) {
        tell(response.status, response.what);
        respond(std::move(response));
      });
    };
  }
  return outcome;
}

}  // namespace

std::span<const Route> routes() { return kRoutes; }

std::optional<Response> refusal(const Doors& doors, Request& request) {
  auto refused = guarded(
      [&]() -> std::optional<Response> {
        const Found found = find_route(request);
        const Needs needs = needs_of(found);
        request.is_for_all = needs == Needs::kNothing;
        request.concern = found.route == nullptr ? Concern::kNothing : found.route->concern;
        auto ok = identify(doors, request, needs);
        request.is_admitted = ok.has_value();
        if (request.is_admitted) return std::nullopt;
        return unauthorized(ok.error());
      },
      [](Response response) { return std::optional(std::move(response)); });
  if (refused) static_cast<void>(told(doors, request, *refused));
  return refused;
}

Outcome answer(const Doors& doors, Request& request) {
  Outcome outcome = guarded([&] { return outcome_of(doors, request); },
                            [](Response response) { return Outcome(std::move(response)); });
  if (Later* later = std::get_if<Later>(&outcome)) *later = guarded(std::move(*later));
  return told(doors, request, std::move(outcome));
}

std::size_t largest_body(std::string_view method, std::string_view path, std::size_t of_a_job) {
  constexpr std::size_t kOfOthers = std::size_t{64} << 10U;
  const bool job = method == "POST" && path.substr(0, path.find('?')) == "/v1/jobs";
  return job ? of_a_job : std::min(of_a_job, kOfOthers);
}

}  // namespace tangram::http
