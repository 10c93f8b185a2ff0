// See replay.hpp.
#include "store/replay.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "core/scheduler.hpp"
#include "core/transcript.hpp"
#include "policies/registry.hpp"
#include "store/decisions.hpp"
#include "store/restore_scheduler.hpp"
#include "store/saved_json.hpp"
#include "store/store_impl.hpp"

namespace tangram::store {
namespace {

constexpr std::uint64_t kStepsAtOnce = 1000;
constexpr std::uint64_t kNoEnd = ~std::uint64_t{0};

// Preconditions of Scheduler::step() that callers normally guarantee but a damaged journal may
// violate. Returns what is wrong, or "".
std::string invalid_reason(const core::Node& node, const Step& step) {
  if (step.at < node.now()) return "time goes back";
  const auto illegal = [&](core::GpuId g, mig::Placement p) {
    if (g.value() >= node.gpu_count()) return false;  // ignored
    const mig::Model& model = node.model(g);
    return p.profile.value() >= model.profiles().size() || !model.placement(p.profile, p.start);
  };
  if (const auto* e = std::get_if<core::ForeignSeen>(&step.event)) {
    return illegal(e->gpu, e->placement) ? "an impossible placement" : "";
  }
  if (const auto* e = std::get_if<core::ForeignGone>(&step.event)) {
    return illegal(e->gpu, e->placement) ? "an impossible placement" : "";
  }
  return "";
}

Result<void> replay_step(core::Scheduler& scheduler, const Step& step) {
  if (const std::string wrong = invalid_reason(scheduler.node(), step); !wrong.empty()) {
    return failed(cat("step ", step.sequence, " of the journal is invalid: ", wrong));
  }
  core::Actions actions;
  scheduler.step(step.at, step.event, actions);
  const std::string now = decisions_text(scheduler.node(), actions);
  if (now == step.decisions) return {};
  return failed(cat("step ", step.sequence, " (", core::to_text(scheduler.node(), step.event),
                    ") is decided differently.\nThen:\n", step.decisions, "\nNow:\n", now));
}

// Text of the first difference between the two states.
std::string difference(const core::Saved& replayed, const core::Saved& stored) {
  const auto say = [](std::string_view what, const std::string& a, const std::string& b) {
    return cat(what, "\nReplayed:\n", a, "\nStored:\n", b);
  };
  const std::string rest = saved_json(replayed.rest);
  if (rest != saved_json(stored.rest)) return say("the scheduler", rest, saved_json(stored.rest));
  const auto text = [](const auto& list, std::size_t i) {
    return i < list.size() ? saved_json(list[i]) : std::string("(none)");
  };
  const auto first = [&](std::string_view what, const auto& a, const auto& b) {
    for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
      if (text(a, i) != text(b, i)) return say(what, text(a, i), text(b, i));
    }
    return std::string();
  };
  std::string gpu = first("a GPU", replayed.gpus, stored.gpus);
  if (!gpu.empty()) return gpu;
  const std::string job = first("a job", replayed.jobs, stored.jobs);
  return job.empty() ? "the model of a GPU" : job;
}

// Calls `each` for the steps of the journal after `from`, up to `to`; returns the last one.
template <class Each>
Result<std::uint64_t> for_each_step(Store& store, std::uint64_t from, std::uint64_t to, Each each) {
  while (from < to) {
    const auto steps = store.steps(from + 1, std::min<std::uint64_t>(kStepsAtOnce, to - from));
    if (!steps) return std::unexpected(steps.error());
    for (const Step& step : *steps) {
      if (step.sequence != from + 1) {
        return failed(cat("step ", from + 1, " is missing from the journal"));
      }
      if (const auto done = each(step); !done) return std::unexpected(done.error());
      from = step.sequence;
    }
    if (steps->empty()) break;
  }
  return from;
}

Result<ReplayResult> replay_from(Store& store, const SavedState& start) {
  auto scheduler = restore_scheduler(start.scheduler);
  if (!scheduler) return std::unexpected(scheduler.error());
  ReplayResult replayed{.first = 0, .last = start.sequence, .steps = 0};
  const auto each = [&](const Step& step) {
    if (replayed.steps++ == 0) replayed.first = step.sequence;
    return replay_step(*scheduler, step);
  };
  const auto last = for_each_step(store, start.sequence, kNoEnd, each);
  if (!last) return std::unexpected(last.error());
  replayed.last = *last;
  const auto stored = store.scheduler();
  if (!stored) return std::unexpected(stored.error());
  const core::Saved end = scheduler->save();
  if (end == *stored) return replayed;
  return failed(cat("after step ", replayed.last,
                    " the tables differ from the journal: ", difference(end, *stored)));
}

}  // namespace

Result<ReplayResult> replay(Store& store) {
  return store.impl_->guarded("replay", [&]() -> Result<ReplayResult> {
    const ReadTransaction transaction(store.impl_->db);
    const auto start = store.oldest_state();
    if (!start) return std::unexpected(start.error());
    return replay_from(store, *start);
  });
}

Result<core::Scheduler> replay_to(Store& store, std::uint64_t sequence) {
  return store.impl_->guarded("replay", [&]() -> Result<core::Scheduler> {
    const ReadTransaction transaction(store.impl_->db);
    const auto start = store.state_before(sequence);
    if (!start) return std::unexpected(start.error());
    auto scheduler = restore_scheduler(start->scheduler);
    if (!scheduler) return scheduler;
    const auto each = [&](const Step& step) { return replay_step(*scheduler, step); };
    const auto last = for_each_step(store, start->sequence, sequence - 1, each);
    if (!last) return std::unexpected(last.error());
    if (*last + 1 == sequence) return scheduler;
    return not_found(cat("the journal of ", store.path(), " has no step ", sequence, " yet"));
  });
}

}  // namespace tangram::store
