// The routes of leases; see routes.cpp for the table.
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
    // One that is there already is given again, not made.
    const bool again =
        !wish.key.empty() && doors.lease_by_key && doors.lease_by_key(caller, wish.key);
    return doors.acquire(caller, wish, [respond, again](const Answer<api::LeaseView>& lease) {
      Response response = response_of(lease, again ? 200 : 201);
      if (lease) response.headers.emplace_back("Location", cat("/v1/leases/", lease->id));
      respond(std::move(response));
    });
  };
  return Later{.ask = ask, .patience = std::nullopt, .waits = request.caller};
}

Outcome get_leases(const Doors& doors, const Request& request) {
  if (auto ok = request.query.allow_only({"key"}); !ok) return bad_request(ok.error());
  const auto key = request.query.text("key");
  if (!key) return response_of(doors.leases(request.caller));
  if (key->empty() || !api::is_plain_name(*key)) {
    return bad_request({ErrorCode::kInvalid, "key must have 1 to 255 printable characters."});
  }
  const auto lease = doors.lease_by_key(request.caller, *key);
  if (!lease) return problem_response(lease.error());
  return response_of(Answer<std::vector<api::LeaseView>>(std::vector{*lease}));
}

Outcome get_lease(const Doors& doors, const Request& request) {
  if (auto ok = request.query.allow_only({}); !ok) return bad_request(ok.error());
  return response_of(doors.lease(request.caller, request.id));
}

Outcome post_renew(const Doors& doors, const Request& request) {
  if (auto ok = request.query.allow_only({}); !ok) return bad_request(ok.error());
  const auto ttl = renewal_in(request);
  if (!ttl) return problem_response(ttl.error());
  return later([&doors, caller = request.caller, id = request.id, ttl = *ttl](Respond respond) {
    doors.renew(caller, id, ttl, respond_with<api::LeaseView>(std::move(respond)));
  });
}

Outcome delete_lease(const Doors& doors, const Request& request) {
  if (auto ok = request.query.allow_only({}); !ok) return bad_request(ok.error());
  return later([&doors, caller = request.caller, id = request.id](Respond respond) {
    doors.release_lease(caller, id, respond_with<api::LeaseView>(std::move(respond)));
  });
}

}  // namespace tangram::http
