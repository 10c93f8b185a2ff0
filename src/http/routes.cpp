// See routes.hpp.
#include "http/routes.hpp"

#include <algorithm>
#include <charconv>
#include <exception>
#include <vector>

#include "base/text.hpp"
#include "http/handlers.hpp"

namespace tangram::http {
namespace {

constexpr Route kRoutes[] = {
    {"POST", "/v1/jobs", post_job},
    {"GET", "/v1/jobs", get_jobs},
    {"GET", "/v1/jobs/{id}", get_job},
    {"POST", "/v1/jobs/{id}/cancel", post_cancel},
    {"POST", "/v1/jobs/{id}/signal", post_signal},
    {"GET", "/v1/jobs/{id}/wait", get_wait},
    {"GET", "/v1/jobs/{id}/logs", get_logs},
    {"GET", "/v1/gpus", get_gpus},
    {"GET", "/v1/status", get_status},
    {"GET", "/healthz", get_health},
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

std::string_view method_of(const Request& request) {
  return request.method == "HEAD" ? "GET" : std::string_view(request.method);
}

Outcome not_found(const Request& request) {
  return problem_response(
      problem(404, "no-such-route",
              cat("there is nothing at ", quoted(request.path), "; try /v1/status or /v1/jobs.")));
}

Outcome not_allowed(const Request& request, const std::vector<std::string>& methods) {
  Response response = problem_response(
      problem(405, "method-not-allowed",
              cat(quoted(request.method), " is not possible at ", quoted(request.path),
                  "; possible is ", join_words(methods), ".")));
  std::string allow;
  for (const std::string& method : methods) allow += cat(allow.empty() ? "" : ", ", method);
  response.headers.emplace_back("Allow", allow);
  return response;
}

Outcome guarded(const Route& route, const Doors& doors, const Request& request) {
  try {
    return route.handler(doors, request);
  } catch (const std::exception& error) {
    return problem_response(
        problem(500, "internal-error", cat("internal error: ", printable(error.what()))));
  }
}

}  // namespace

std::span<const Route> routes() { return kRoutes; }

Outcome answer(const Doors& doors, Request& request) {
  std::vector<std::string> methods;
  for (const Route& route : kRoutes) {
    const auto id = match(route.pattern, request.path);
    if (!id) continue;
    if (route.method != method_of(request)) {
      methods.emplace_back(route.method);
      if (route.method == "GET") methods.emplace_back("HEAD");
      continue;
    }
    if (!id->empty()) {
      const auto number = number_of(*id);
      if (!number) {
        return problem_response(
            problem(404, "no-such-job",
                    cat("there is no job ", quoted(*id), "; a job is named by its number.")));
      }
      request.id = *number;
    }
    return guarded(route, doors, request);
  }
  return methods.empty() ? not_found(request) : not_allowed(request, methods);
}

}  // namespace tangram::http
