// The routes for requested moves; see routes.cpp for the table.
#include <boost/json/object.hpp>

#include "base/text.hpp"
#include "http/routes/route_handlers.hpp"

namespace tangram::http {
namespace {

// Without a body, the placement policy chooses the destination.
Answer<api::MoveRequest> move_in(const Request& request) {
  if (request.body.empty()) return api::MoveRequest{};
  const auto document = json_body(request);
  if (!document) return std::unexpected(document.error());
  const auto move = api::read_move_request(*document);
  if (move) return *move;
  return std::unexpected(problem(400, "bad-move", cat("invalid move: ", move.error().message)));
}

Result<std::size_t> most_in(const Query& query) {
  constexpr std::uint64_t kDefault = 20;
  constexpr std::uint64_t kMax = 100;
  if (auto ok = query.allow_only({"most"}); !ok) return std::unexpected(ok.error());
  const auto most = query.number("most", kMax);
  if (!most) return std::unexpected(most.error());
  if (*most == 0U) return invalid(cat("invalid most: use a whole number from 1 to ", kMax));
  return static_cast<std::size_t>(most->value_or(kDefault));
}

}  // namespace

Outcome post_move(const ApiHandlers& handlers, const Request& request) {
  if (auto ok = request.query.allow_only({}); !ok) return bad_request(ok.error());
  const auto move = move_in(request);
  if (!move) return problem_response(move.error());
  return defer(
      [&handlers, caller = request.caller, id = request.id, move = *move](const Respond& respond) {
        handlers.move(caller, id, move, [respond, move](const Answer<api::JobView>& job) {
          Response response = response_of(job, 202);
          response.what = move.to ? cat("to=", move.to->gpu, ":", move.to->start) : "to=anywhere";
          respond(std::move(response));
        });
      });
}

Outcome get_defrag(const ApiHandlers& handlers, const Request& request) {
  const auto most = most_in(request.query);
  if (!most) return bad_request(most.error());
  return defer([&handlers, caller = request.caller, most = *most](Respond respond) {
    handlers.defrag(caller, most, respond_with<api::DefragPlan>(std::move(respond)));
  });
}

}  // namespace tangram::http
