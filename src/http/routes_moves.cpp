// The routes of moves that people ask for; see routes.cpp for the table.
#include <boost/json/object.hpp>

#include "base/text.hpp"
#include "http/handlers.hpp"

namespace tangram::http {
namespace {

// Without a body it is a move to wherever the placement policy chooses.
Answer<api::MoveRequest> wish_in(const Request& request) {
  if (request.body.empty()) return api::MoveRequest{};
  const auto document = json_body(request);
  if (!document) return std::unexpected(document.error());
  const auto wish = api::read_move_request(*document);
  if (wish) return *wish;
  return std::unexpected(problem(400, "bad-move", cat("the move: ", wish.error().message)));
}

Result<std::size_t> most_in(const Query& query) {
  constexpr std::uint64_t kUsual = 20;
  constexpr std::uint64_t kMost = 100;
  if (auto ok = query.allow_only({"most"}); !ok) return std::unexpected(ok.error());
  const auto most = query.number("most", kMost);
  if (!most) return std::unexpected(most.error());
  if (*most == 0U) return invalid(cat("most must be a whole number from 1 to ", kMost, "."));
  return static_cast<std::size_t>(most->value_or(kUsual));
}

}  // namespace

Outcome post_move(const Doors& doors, const Request& request) {
  if (auto ok = request.query.allow_only({}); !ok) return bad_request(ok.error());
  const auto wish = wish_in(request);
  if (!wish) return problem_response(wish.error());
  return later(
      [&doors, caller = request.caller, id = request.id, wish = *wish](const Respond& respond) {
        doors.move(caller, id, wish, [respond, wish](const Answer<api::JobView>& job) {
          Response response = response_of(job, 202);
          response.what = wish.to ? cat("to=", wish.to->gpu, ":", wish.to->start) : "to=anywhere";
          respond(std::move(response));
        });
      });
}

Outcome get_defrag(const Doors& doors, const Request& request) {
  const auto most = most_in(request.query);
  if (!most) return bad_request(most.error());
  return later([&doors, caller = request.caller, most = *most](Respond respond) {
    doors.defrag(caller, most, respond_with<api::DefragPlan>(std::move(respond)));
  });
}

}  // namespace tangram::http
