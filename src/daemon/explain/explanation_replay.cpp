// See explanation_replay.hpp.
#include "daemon/explain/explanation_replay.hpp"

#include <algorithm>
#include <chrono>

#include "core/explain_placement.hpp"
#include "core/transcript.hpp"
#include "daemon/explain/explanation_data.hpp"
#include "policies/explain_move.hpp"
#include "store/replay.hpp"

namespace tangram::daemon {
namespace {

// The id of the first event at or after `when`, by binary search; assumes that the wall clock was
// not set back.
Result<std::uint64_t> first_event_since(store::Store& store, api::WallTime when) {
  const auto first = store.first_event();
  if (!first) return std::unexpected(first.error());
  const auto is_before = [&](std::uint64_t id) -> Result<bool> {  // false: also if no event follows
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

// The step that started the move, from its "move.begun" event: the one closest in time, because row
// and event are written in the same step.
Result<std::uint64_t> step_of(store::Store& store, const store::MoveRow& move) {
  constexpr std::size_t kMaxAround = 1000;
  constexpr auto kAround = std::chrono::seconds(1);
  const auto from = first_event_since(store, move.begun - kAround);
  if (!from) return std::unexpected(from.error());
  const auto rows = store.events(*from - 1, kMaxAround);
  if (!rows) return std::unexpected(rows.error());
  const store::EventRow* nearest = nullptr;
  const auto distance = [&](const store::EventRow& row) {
    return std::chrono::abs(row.wall - move.begun);
  };
  for (const store::EventRow& row : *rows) {
    if (row.kind != "move.begun" || row.job != move.job || distance(row) > kAround) continue;
    if (nearest == nullptr || distance(row) < distance(*nearest)) nearest = &row;
  }
  if (nearest == nullptr) return not_found("its event is no longer stored.");
  return nearest->step;
}

// Adds why the scheduler chose the move.
Result<void> replay_move(store::Store& store, const store::MoveRow& move, api::MoveRecordView& to) {
  const auto step = step_of(store, move);
  if (!step) return std::unexpected(step.error());
  const auto before = store::replay_to(store, *step);
  if (!before) return std::unexpected(before.error());
  const auto steps = store.steps(*step, 1);
  if (!steps) return std::unexpected(steps.error());
  if (steps->empty()) return not_found("the journal no longer contains it.");
  const auto explained = policies::explain_move_made(*before, steps->front().at,
                                                     steps->front().event, core::JobId(move.job));
  if (!explained) return std::unexpected(explained.error());
  const policies::ExplainedMove& made = explained->candidates.front();
  if (made.move.to.gpu.value() != move.to_gpu || made.move.to.start != move.to_start) {
    return not_found("the journal has another move there.");
  }
  to.weighed = explained->candidates.size();
  to.frag_before = made.before.approximate();
  to.frag_after = made.after.approximate();
  return {};
}

}  // namespace

Result<void> replay_placement(store::Store& store, std::uint64_t job, api::Explanation& to) {
  const auto step = store.placement_step(job);
  if (!step) return std::unexpected(step.error());
  if (!*step) return not_found("the journal no longer contains it");
  const auto before = store::replay_to(store, (*step)->sequence);
  if (!before) return std::unexpected(before.error());
  const auto steps = store.steps((*step)->sequence, 1);
  if (!steps) return std::unexpected(steps.error());
  if (steps->empty()) return not_found("the journal no longer contains it");
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
  // On an error the reason stays empty.
  static_cast<void>(replay_move(store, row, to.moves[*last]));
}

}  // namespace tangram::daemon
