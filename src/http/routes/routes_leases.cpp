// The routes for leases; see routes.cpp for the table.
#include <limits>

#include <boost/json/object.hpp>

#include "api/printable_name.hpp"
#include "base/text.hpp"
#include "http/routes/route_handlers.hpp"

namespace tangram::http {
namespace {

Answer<std::optional<std::chrono::milliseconds>> renewal_in(const Request& request) {
  if (request.body.empty()) return std::nullopt;
  const auto document = json_body(request);
  if (!document) return std::unexpected(document.error());
  const auto ttl = api::read_renewal(*document);
  if (!ttl) return std::unexpected(problem(400, "bad-lease", ttl.error().message));
  return *ttl;
}

// Identifies a lease by its key and its owner (nullopt: the caller).
struct KeyAndOwner {
  std::string key;
  std::optional<std::uint32_t> uid;
};

Result<std::optional<KeyAndOwner>> key_in(const Query& query) {
  const auto uid = query.number("uid", std::numeric_limits<std::uint32_t>::max());
  if (!uid) return std::unexpected(uid.error());
  const auto key = query.text("key");
  if (!key && *uid) return invalid("uid needs key: it is the owner of the lease with that key");
  if (!key) return std::nullopt;
  if (key->empty() || !api::is_printable_name(*key)) {
    return invalid("invalid key: use 1 to 255 printable characters");
  }
  KeyAndOwner result{.key = *key, .uid = std::nullopt};
  if (*uid) result.uid = static_cast<std::uint32_t>(**uid);
  return result;
}

Result<LeaseFilter> page_in(const Query& query) {
  const auto before = query.number("before", std::numeric_limits<std::uint64_t>::max());
  if (!before) return std::unexpected(before.error());
  const auto limit = page_size_in(query);
  if (!limit) return std::unexpected(limit.error());
  return LeaseFilter{.before = *before, .limit = *limit};
}

// One page of open leases, with a Link header to the next page if there are more.
Response page_of_leases(const ApiHandlers& handlers, const Request& request,
                        const LeaseFilter& page) {
  auto leases = handlers.leases(request.caller, {.before = page.before, .limit = page.limit + 1});
  const bool more = leases && leases->size() > page.limit;
  if (more) leases->erase(leases->begin(), leases->end() - static_cast<std::ptrdiff_t>(page.limit));
  Response response = response_of(leases);
  if (!more) return response;
  const auto limit = request.query.text("limit");
  response.headers.emplace_back("Link", cat("</v1/leases?", limit ? cat("limit=", *limit, '&') : "",
                                            "before=", leases->front().id, ">; rel=\"next\""));
  return response;
}

std::string what_of(const api::LeaseView& lease) {
  return cat("lease=", lease.id, " uid=", lease.uid, " profile=", lease.profile,
             lease.key.empty() ? "" : cat(" key=", lease.key));
}

// 202 if the release is deferred until the store can be written.
Response response_of_release(const ApiHandlers::Released& released) {
  return json_response(to_json(released.lease), released.deferred ? 202 : 200);
}

}  // namespace

Outcome post_lease(const ApiHandlers& handlers, const Request& request) {
  if (auto ok = request.query.allow_only({}); !ok) return bad_request(ok.error());
  const auto document = json_body(request);
  if (!document) return problem_response(document.error());
  const auto lease = api::read_lease_request(*document);
  if (!lease) {
    return problem_response(
        problem(400, "bad-lease", cat("invalid lease: ", lease.error().message)));
  }
  const auto start = [&handlers, caller = request.caller, lease = *lease](const Respond& respond) {
    return handlers.acquire(caller, lease, [respond](const Answer<ApiHandlers::Acquired>& made) {
      if (!made) {
        respond(problem_response(made.error()));
        return;
      }
      Response response = json_response(to_json(made->lease), made->existing ? 200 : 201);
      response.headers.emplace_back("Location", cat("/v1/leases/", made->lease.id));
      response.what = what_of(made->lease);
      respond(std::move(response));
    });
  };
  return DeferredResponse{.start = start, .timeout = std::nullopt, .revalidate = request.caller};
}

Outcome get_leases(const ApiHandlers& handlers, const Request& request) {
  if (auto ok = request.query.allow_only({"key", "uid", "limit", "before"}); !ok) {
    return bad_request(ok.error());
  }
  const auto key = key_in(request.query);
  if (!key) return bad_request(key.error());
  const auto page = page_in(request.query);
  if (!page) return bad_request(page.error());
  if (!*key) return page_of_leases(handlers, request, *page);
  return response_of(handlers.leases_by_key(request.caller, (*key)->key, (*key)->uid));
}

// Releases by key, which is all that a Slurm epilog knows. An epilog runs after every attempt, so a
// key without an open lease is no error: 204.
Outcome delete_leases(const ApiHandlers& handlers, const Request& request) {
  if (auto ok = request.query.allow_only({"key", "uid"}); !ok) return bad_request(ok.error());
  const auto key = key_in(request.query);
  if (!key) return bad_request(key.error());
  if (!*key) {
    return bad_request({ErrorCode::kInvalid, "missing key: use DELETE /v1/leases?key=KEY"});
  }
  return defer([&handlers, caller = request.caller, key = **key](const Respond& respond) {
    handlers.release_by_key(
        caller, key.key, key.uid,
        [respond](const Answer<std::optional<ApiHandlers::Released>>& released) {
          if (!released) {
            respond(problem_response(released.error()));
            return;
          }
          if (!*released) {
            respond(Response{204, "", "", {}, "none open"});
            return;
          }
          Response response = response_of_release(**released);
          response.what = what_of((*released)->lease);
          respond(std::move(response));
        });
  });
}

Outcome get_lease(const ApiHandlers& handlers, const Request& request) {
  if (auto ok = request.query.allow_only({}); !ok) return bad_request(ok.error());
  return response_of(handlers.lease(request.caller, request.id));
}

Outcome post_renew(const ApiHandlers& handlers, const Request& request) {
  if (auto ok = request.query.allow_only({}); !ok) return bad_request(ok.error());
  const auto ttl = renewal_in(request);
  if (!ttl) return problem_response(ttl.error());
  return defer(
      [&handlers, caller = request.caller, id = request.id, ttl = *ttl](const Respond& respond) {
        handlers.renew(caller, id, ttl, [respond](const Answer<api::LeaseView>& lease) {
          Response response = response_of(lease);
          if (lease) response.what = cat("ttl=", api::duration_text(lease->ttl));
          respond(std::move(response));
        });
      });
}

Outcome delete_lease(const ApiHandlers& handlers, const Request& request) {
  if (auto ok = request.query.allow_only({}); !ok) return bad_request(ok.error());
  return defer([&handlers, caller = request.caller, id = request.id](const Respond& respond) {
    handlers.release_lease(caller, id, [respond](const Answer<ApiHandlers::Released>& released) {
      respond(released ? response_of_release(*released) : problem_response(released.error()));
    });
  });
}

}  // namespace tangram::http
