// See explanation_past.hpp.
#include "daemon/explanation_past.hpp"

#include <algorithm>
#include <chrono>

#include "core/explain_placement.hpp"
#include "core/transcript.hpp"
#include "daemon/explanation_data.hpp"
#include "policies/explain_move.hpp"
#include "store/replay.hpp"

namespace tangram::daemon {
namespace {

// The number of the first event from that time on, if nobody has set the clock back.
Result<std::uint64_t> first_event_since(store::Store& store, api::WallTime when) {
  const auto first = store.first_event();
  if (!first) return std::unexpected(first.error());
  const auto is_before = [&](std::uint64_t id) -> Result<bool> {  // false: also if there is none
    const auto rows = store.events(id - 1, 1);
    if (!rows) return std::unexpected(rows.error());
    return !rows->empty() && rows->front().wall < when;
  };
  std::uint64_t low = std::max<std::uint64_t>(*first, 1);
  std::uint64_t width = 1;
  for (;; width *= 2) {
    const auto before = is_before(low + width);
    if (!before) return std::unexpected(before.error());
    if (!*before) break;
  }
  for (std::uint64_t high = low + width; low < high;) {
    const std::uint64_t middle = low + (high - low) / 2;
    const auto before = is_before(middle);
    if (!before) return std::unexpected(before.error());
    if (*before) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// The step in which it was begun, by the event that told of it: of those about the job the one
// whose time is the nearest, because the two times are those of one step.
Result<std::uint64_t> step_of(store::Store& store, const store::MoveRow& move) {
  constexpr std::size_t kMostAround = 1000;
  constexpr auto kAround = std::chrono::seconds(1);
  const auto from = first_event_since(store, move.begun - kAround);
  if (!from) return std::unexpected(from.error());
  const auto rows = store.events(*from - 1, kMostAround);
  if (!rows) return std::unexpected(rows.error());
  const store::EventRow* nearest = nullptr;
  const auto far = [&](const store::EventRow& row) {
    return std::chrono::abs(row.wall - move.begun);
  };
  for (const store::EventRow& row : *rows) {
    if (row.kind != "move.begun" || row.job != move.job || far(row) > kAround) continue;
    if (nearest == nullptr || far(row) < far(*nearest)) nearest = &row;
  }
  if (nearest == nullptr) return not_found("no event tells of it any more.");
  return nearest->step;
}

// Why the scheduler made it, if that can still be told.
Result<void> weigh_again(store::Store& store, const store::MoveRow& move, api::MovedView& to) {
  const auto step = step_of(store, move);
  if (!step) return std::unexpected(step.error());
  const auto before = store::replay_to(store, *step);
  if (!before) return std::unexpected(before.error());
  const auto steps = store.steps(*step, 1);
  if (!steps) return std::unexpected(steps.error());
  if (steps->empty()) return not_found("the journal does not go back to it.");
  const auto explained = policies::explain_move_made(*before, steps->front().at,
                                                     steps->front().event, core::JobId(move.job));
  if (!explained) return std::unexpected(explained.error());
  const policies::ExplainedMove& made = explained->candidates.front();
  if (made.move.to.gpu.value() != move.to_gpu || made.move.to.start != move.to_start) {
    return not_found("another move is told of there.");
  }
  to.weighed = explained->candidates.size();
  to.frag_before = made.before.approximate();
  to.frag_after = made.after.approximate();
  return {};
}

}  // namespace

Result<void> decide_again(store::Store& store, std::uint64_t job, api::Explanation& to) {
  const auto step = store.placement_step(job);
  if (!step) return std::unexpected(step.error());
  if (!*step) return not_found("the journal does not go back to its placement");
  const auto before = store::replay_to(store, (*step)->sequence);
  if (!before) return std::unexpected(before.error());
  const auto steps = store.steps((*step)->sequence, 1);
  if (!steps) return std::unexpected(steps.error());
  if (steps->empty()) return not_found("the journal does not go back to its placement");
  const store::Step& decision = steps->front();
  const auto explained =
      core::explain_placement(*before, decision.at, decision.event, core::JobId(job));
  if (!explained) return std::unexpected(explained.error());
  add_arrival(*explained, *before->policies().placement, to);
  to.step = decision.sequence;
  to.decided = decision.wall;
  return {};
}

void add_moves(store::Store& store, api::Explanation& to) {
  const auto rows = store.moves(to.job);
  if (!rows) return;
  std::optional<std::size_t> last;
  for (const store::MoveRow& row : *rows) {
    if (row.result == "done" || row.result == "taken-over") last = to.moves.size();
    to.moves.push_back({.kind = row.kind,
                        .from_gpu = row.from_gpu,
                        .from_start = row.from_start,
                        .to_gpu = row.to_gpu,
                        .to_start = row.to_start,
                        .begun = row.begun,
                        .ended = row.ended,
                        .result = row.result,
                        .reason = row.reason});
  }
  if (!last) return;
  const store::MoveRow& row = (*rows)[*last];
  const bool by_method = row.kind == core::name_of(core::MoveKind::kIntra) ||
                         row.kind == core::name_of(core::MoveKind::kInter);
  if (!by_method) return;
  // What cannot be told any more is left open.
  static_cast<void>(weigh_again(store, row, to.moves[*last]));
}

}  // namespace tangram::daemon
