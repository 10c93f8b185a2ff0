// See places.hpp.
#include "daemon/places.hpp"

#include <algorithm>

namespace tangram::daemon {

std::vector<api::Place> places_of(const std::vector<store::RunRow>& runs,
                                  const std::vector<store::MoveRow>& moves) {
  std::vector<api::Place> places;
  const std::size_t skipped = runs.size() > kMostPlaces ? runs.size() - kMostPlaces : 0;
  for (std::size_t i = skipped; i < runs.size(); ++i) {
    const store::RunRow& run = runs[i];
    api::Place place{.run = run.run,
                     .gpu = run.gpu,
                     .start = run.start,
                     .profile = run.profile,
                     .mig_uuid = run.mig_uuid,
                     .how = "placed",
                     .result = "",
                     .started = run.started,
                     .ended = run.ended};
    const auto move = std::ranges::find(moves, std::optional(run.run), &store::MoveRow::run);
    if (move != moves.end()) {
      place.how = move->kind;
      place.result = move->result;
    }
    places.push_back(std::move(place));
  }
  return places;
}

}  // namespace tangram::daemon
