// The routes of leases; see routes.cpp for the table.
#include <limits>

#include <boost/json/object.hpp>

#include "api/plain_name.hpp"
#include "base/text.hpp"
#include "http/handlers.hpp"

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

// How a caller names a lease that he took: by its key, and its owner if that is not himself.
struct KeyAndOwner {
  std::string key;
  std::optional<std::uint32_t> uid;
};

Result<std::optional<KeyAndOwner>> name_in(const Query& query) {
  const auto uid = query.number("uid", std::numeric_limits<std::uint32_t>::max());
  if (!uid) return std::unexpected(uid.error());
  const auto key = query.text("key");
  if (!key && *uid) return invalid("uid goes with key: whose lease of that key.");
  if (!key) return std::nullopt;
  if (key->empty() || !api::is_plain_name(*key)) {
    return invalid("key must have 1 to 255 printable characters.");
  }
  KeyAndOwner name{.key = *key, .uid = std::nullopt};
  if (*uid) name.uid = static_cast<std::uint32_t>(**uid);
  return name;
}

Result<LeaseFilter> page_in(const Query& query) {
  const auto before = query.number("before", std::numeric_limits<std::uint64_t>::max());
  if (!before) return std::unexpected(before.error());
  const auto limit = limit_in(query);
  if (!limit) return std::unexpected(limit.error());
  return LeaseFilter{.before = *before, .most = *limit};
}

// A page of those that are open; one more than it has room for says whether there are more.
Response page_of_leases(const Doors& doors, const Request& request, const LeaseFilter& page) {
  auto leases = doors.leases(request.caller, {.before = page.before, .most = page.most + 1});
  const bool more = leases && leases->size() > page.most;
  if (more) leases->erase(leases->begin(), leases->end() - static_cast<std::ptrdiff_t>(page.most));
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

// One that is only noted is not done yet.
Response response_of_release(const Doors::Released& released) {
  return json_response(to_json(released.lease), released.noted ? 202 : 200);
}

}  // namespace

Outcome post_lease(const Doors& doors, const Request& request) {
  if (auto ok = request.query.allow_only({}); !ok) return bad_request(ok.error());
  const auto document = json_body(request);
  if (!document) return problem_response(document.error());
  const auto wish = api::read_lease_request(*document);
  if (!wish) {
    return problem_response(problem(400, "bad-lease", cat("the lease: ", wish.error().message)));
  }
  const auto ask = [&doors, caller = request.caller, wish = *wish](const Respond& respond) {
    return doors.acquire(caller, wish, [respond](const Answer<Doors::Acquired>& made) {
      if (!made) return respond(problem_response(made.error()));
      // One that is there already is given again, not made.
      Response response = json_response(to_json(made->lease), made->again ? 200 : 201);
      response.headers.emplace_back("Location", cat("/v1/leases/", made->lease.id));
      response.what = what_of(made->lease);
      respond(std::move(response));
    });
  };
  return Later{.ask = ask, .patience = std::nullopt, .waits = request.caller};
}

Outcome get_leases(const Doors& doors, const Request& request) {
  if (auto ok = request.query.allow_only({"key", "uid", "limit", "before"}); !ok) {
    return bad_request(ok.error());
  }
  const auto name = name_in(request.query);
  if (!name) return bad_request(name.error());
  const auto page = page_in(request.query);
  if (!page) return bad_request(page.error());
  if (!*name) return page_of_leases(doors, request, *page);
  return response_of(doors.leases_by_key(request.caller, (*name)->key, (*name)->uid));
}

// By its key, which is all that an epilog knows; it runs after every attempt, so that there is
// none is as good as one that is released.
Outcome delete_leases(const Doors& doors, const Request& request) {
  if (auto ok = request.query.allow_only({"key", "uid"}); !ok) return bad_request(ok.error());
  const auto name = name_in(request.query);
  if (!name) return bad_request(name.error());
  if (!*name) {
    return bad_request({ErrorCode::kInvalid, "say which: DELETE /v1/leases?key=KEY."});
  }
  return later([&doors, caller = request.caller, name = **name](const Respond& respond) {
    doors.release_by_key(caller, name.key, name.uid,
                         [respond](const Answer<std::optional<Doors::Released>>& released) {
                           if (!released) return respond(problem_response(released.error()));
                           if (!*released) return respond(Response{204, "", "", {}, "none open"});
                           Response response = response_of_release(**released);
                           response.what = what_of((*released)->lease);
                           respond(std::move(response));
                         });
  });
}

Outcome get_lease(const Doors& doors, const Request& request) {
  if (auto ok = request.query.allow_only({}); !ok) return bad_request(ok.error());
  return response_of(doors.lease(request.caller, request.id));
}

Outcome post_renew(const Doors& doors, const Request& request) {
  if (auto ok = request.query.allow_only({}); !ok) return bad_request(ok.error());
  const auto ttl = renewal_in(request);
  if (!ttl) return problem_response(ttl.error());
  return later(
      [&doors, caller = request.caller, id = request.id, ttl = *ttl](const Respond& respond) {
        doors.renew(caller, id, ttl, [respond](const Answer<api::LeaseView>& lease) {
          Response response = response_of(lease);
          if (lease) response.what = cat("ttl=", api::duration_text(lease->ttl));
          respond(std::move(response));
        });
      });
}

Outcome delete_lease(const Doors& doors, const Request& request) {
  if (auto ok = request.query.allow_only({}); !ok) return bad_request(ok.error());
  return later([&doors, caller = request.caller, id = request.id](const Respond& respond) {
    doors.release_lease(caller, id, [respond](const Answer<Doors::Released>& released) {
      respond(released ? response_of_release(*released) : problem_response(released.error()));
    });
  });
}

}  // namespace tangram::http
