// The routes for bearer tokens; see routes.cpp for the table.
#include <boost/json/object.hpp>

#include "base/text.hpp"
#include "http/routes/route_handlers.hpp"

namespace tangram::http {

Outcome post_token(const ApiHandlers& handlers, const Request& request) {
  if (auto ok = request.query.allow_only({}); !ok) return bad_request(ok.error());
  const auto document = json_body(request);
  if (!document) return problem_response(document.error());
  const auto requested = api::read_token_request(*document);
  if (!requested) {
    return problem_response(
        problem(400, "bad-token", cat("invalid token request: ", requested.error().message)));
  }
  // A token must not create one with more rights than its own.
  if (requested->scope > request.caller.scope) {
    return problem_response(
        problem(403, "scope",
                cat("permission denied: a token of scope ", name_of(request.caller.scope),
                    " cannot create one of scope ", name_of(requested->scope))));
  }
  return defer(
      [&handlers, caller = request.caller, requested = *requested](const Respond& respond) {
        handlers.create_token(caller, requested, [respond](const Answer<api::TokenView>& token) {
          Response response = response_of(token, 201);
          if (token) {
            response.headers.emplace_back("Location", cat("/v1/tokens/", token->id));
            response.what =
                cat("token=", token->id, " uid=", token->uid, " scope=", name_of(token->scope),
                    " expires=", api::wall_text(token->expires));
          }
          respond(std::move(response));
        });
      });
}

Outcome get_tokens(const ApiHandlers& handlers, const Request& request) {
  if (auto ok = request.query.allow_only({}); !ok) return bad_request(ok.error());
  return response_of(handlers.tokens(request.caller));
}

Outcome delete_token(const ApiHandlers& handlers, const Request& request) {
  if (auto ok = request.query.allow_only({}); !ok) return bad_request(ok.error());
  return defer([&handlers, caller = request.caller, id = request.id](Respond respond) {
    handlers.revoke_token(caller, id, respond_with<api::TokenView>(std::move(respond)));
  });
}

}  // namespace tangram::http
