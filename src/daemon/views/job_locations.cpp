// See job_locations.hpp.
#include "daemon/views/job_locations.hpp"

#include <algorithm>
#include <map>
#include <ranges>
#include <tuple>
#include <utility>

namespace tangram::daemon {
namespace {

api::RunRecord location_of(const store::RunRow& run) {
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

// A move that was rolled back before its run started.
api::RunRecord location_of(const store::MoveRow& move) {
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

std::vector<api::RunRecord> locations_of(const std::vector<store::RunRow>& runs,
                                         const std::vector<store::MoveRow>& moves, bool may_read) {
  std::multimap<store::WallTime, api::RunRecord> found;  // by start time
  for (const store::RunRow& run : runs) {
    api::RunRecord place = location_of(run);
    const auto move = std::ranges::find(moves, std::optional(run.run), &store::MoveRow::run);
    if (move != moves.end()) {
      place.how = move->kind;
      place.result = move->result;
      place.finished = move->finished;
      place.cut = move->cut;
      const bool rolled_back = move->result == "rolled-back";
      if (rolled_back) place.reason = move->reason;
      // The run's own reason is more specific.
      if (rolled_back && may_read && !run.stop_asked && !run.reason.empty()) {
        place.reason = run.reason;
      }
    }
    found.emplace(run.asked, std::move(place));
  }
  for (const store::MoveRow& move : moves) {
    if (!move.run && move.ended) found.emplace(move.begun, location_of(move));
  }
  std::vector<api::RunRecord> places;
  const std::size_t skipped = found.size() > kMaxLocations ? found.size() - kMaxLocations : 0;
  for (auto& [begun, place] : found | std::views::drop(skipped)) places.push_back(std::move(place));
  return places;
}

}  // namespace tangram::daemon
