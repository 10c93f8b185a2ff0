// The routes for job arrays; see routes.cpp for the table.
#include "base/text.hpp"
#include "http/routes/route_handlers.hpp"

namespace tangram::http {
namespace {

Outcome change(const ApiHandlers& handlers, const Request& request, ArrayAction action) {
  if (auto ok = request.query.allow_only({"indices"}); !ok) return bad_request(ok.error());
  std::optional<api::ArrayIndices> indices;
  if (const auto text = request.query.text("indices")) {
    auto parsed = api::parse_indices(*text);
    if (!parsed) {
      return bad_request({ErrorCode::kInvalid, cat("indices: ", parsed.error().message)});
    }
    indices = *std::move(parsed);
  }
  return defer([&handlers, caller = request.caller, id = request.id, action,
                indices = std::move(indices)](const Respond& respond) {
    handlers.change_array(
        caller, id, action, indices, [respond, id](const Answer<api::ArrayView>& array) {
          Response response =
              array ? json_response(to_json(*array), 202) : problem_response(array.error());
          if (array) response.what = cat("array=", id, " tasks=", array->changed.value_or(0));
          respond(std::move(response));
        });
  });
}

}  // namespace

Outcome get_array(const ApiHandlers& handlers, const Request& request) {
  if (auto ok = request.query.allow_only({}); !ok) return bad_request(ok.error());
  return response_of(handlers.array(request.caller, request.id));
}

Outcome post_array_cancel(const ApiHandlers& handlers, const Request& request) {
  return change(handlers, request, ArrayAction::kCancel);
}

Outcome post_array_hold(const ApiHandlers& handlers, const Request& request) {
  return change(handlers, request, ArrayAction::kHold);
}

Outcome post_array_release(const ApiHandlers& handlers, const Request& request) {
  return change(handlers, request, ArrayAction::kRelease);
}

}  // namespace tangram::http
