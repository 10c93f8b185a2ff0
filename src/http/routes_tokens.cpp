// The routes of bearer tokens; see routes.cpp for the table.
#include <boost/json/object.hpp>

#include "base/text.hpp"
#include "http/handlers.hpp"

namespace tangram::http {

Outcome post_token(const Doors& doors, const Request& request) {
  if (auto ok = request.query.allow_only({}); !ok) return bad_request(ok.error());
  const auto document = json_body(request);
  if (!document) return problem_response(document.error());
  const auto wish = api::read_token_request(*document);
  if (!wish) {
    return problem_response(problem(400, "bad-token", cat("the token: ", wish.error().message)));
  }
  // Else a token could be made worth more than it is.
  if (wish->scope > request.caller.scope) {
    return problem_response(
        problem(403, "scope",
                cat("with a token of the scope ", name_of(request.caller.scope),
                    " none of the scope ", name_of(wish->scope), " can be made.")));
  }
  return later([&doors, caller = request.caller, wish = *wish](const Respond& respond) {
    doors.create_token(caller, wish, [respond](const Answer<api::TokenView>& token) {
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

Outcome get_tokens(const Doors& doors, const Request& request) {
  if (auto ok = request.query.allow_only({}); !ok) return bad_request(ok.error());
  return response_of(doors.tokens(request.caller));
}

Outcome delete_token(const Doors& doors, const Request& request) {
  if (auto ok = request.query.allow_only({}); !ok) return bad_request(ok.error());
  return later([&doors, caller = request.caller, id = request.id](Respond respond) {
    doors.revoke_token(caller, id, respond_with<api::TokenView>(std::move(respond)));
  });
}

}  // namespace tangram::http
