// See places.hpp.
#include "daemon/places.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace tangram::daemon {
namespace {

api::Place place_of(const store::RunRow& run) {
  return {.run = run.run,
          .gpu = run.gpu,
          .start = run.start,
          .profile = run.profile,
          .mig_uuid = run.mig_uuid,
          .how = "placed",
          .result = "",
          .reason = "",
          .finished = 0,
          .cut = 0,
          .started = run.started,
          .ended = run.ended};
}

// It was taken back before there was a run.
api::Place place_of(const store::MoveRow& move) {
  return {.run = std::nullopt,
          .gpu = move.to_gpu,
          .start = move.to_start,
          .profile = "",
          .mig_uuid = "",
          .how = move.kind,
          .result = move.result,
          .reason = move.reason,
          .finished = 0,
          .cut = 0,
          .started = std::nullopt,
          .ended = move.ended};
}

}  // namespace

std::vector<api::Place> places_of(const std::vector<store::RunRow>& runs,
                                  const std::vector<store::MoveRow>& moves, bool may_read) {
  std::vector<std::pair<store::WallTime, api::Place>> found;  // by when it was wanted
  for (const store::RunRow& run : runs) {
    api::Place place = place_of(run);
    const auto move = std::ranges::find(moves, std::optional(run.run), &store::MoveRow::run);
    if (move != moves.end()) {
      place.how = move->kind;
      place.result = move->result;
      place.finished = move->finished;
      place.cut = move->cut;
      const bool taken_back = move->result == "rolled-back";
      if (taken_back) place.reason = move->reason;
      // More exactly, to who may know.
      if (taken_back && may_read && !run.stop_asked && !run.reason.empty()) {
        place.reason = run.reason;
      }
    }
    found.emplace_back(run.asked, std::move(place));
  }
  for (const store::MoveRow& move : moves) {
    if (!move.run && move.ended) found.emplace_back(move.begun, place_of(move));
  }
  std::ranges::stable_sort(found, {}, [](const auto& each) { return each.first; });
  std::vector<api::Place> places;
  const std::size_t skipped = found.size() > kMostPlaces ? found.size() - kMostPlaces : 0;
  for (std::size_t i = skipped; i < found.size(); ++i) places.push_back(std::move(found[i].second));
  return places;
}

}  // namespace tangram::daemon
