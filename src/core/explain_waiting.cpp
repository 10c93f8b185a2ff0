// See explain.hpp: why a job waits and what would unblock it. Unblocking moves are found by taking
// a legal slot of the wanted profile and finding other slots for the movable jobs there, one after
// another, each in slices that are free at that moment (replica first). The restraints of each move
// are listed (see requested_move.hpp); nothing else would prevent it.
#include <algorithm>
#include <map>

#include "core/candidates.hpp"
#include "core/explain.hpp"
#include "core/requested_move.hpp"
#include "core/restraint.hpp"
#include "mig/limits.hpp"

namespace tangram::core {
namespace {

// The node with a few GPUs' occupancies changed by the moves considered so far.
class Overlay {
 public:
  explicit Overlay(const Node& node) : node_(node) {}

  [[nodiscard]] mig::Occupancy of(GpuId g) const { return stand(g).occupied; }
  [[nodiscard]] mig::Occupancy projected(GpuId g) const { return stand(g).projected; }
  void put(GpuId g, mig::Placement p) {
    const mig::Model& model = node_.model(g);
    const Stand after{model.with(of(g), p), model.with(projected(g), p)};
    changed_.insert_or_assign(g, after);
  }
  void take(GpuId g, mig::Placement p) {
    const mig::Model& model = node_.model(g);
    const Stand after{model.without(of(g), p), model.without(projected(g), p)};
    changed_.insert_or_assign(g, after);
  }

 private:
  struct Stand {
    mig::Occupancy occupied;
    mig::Occupancy projected;
  };
  [[nodiscard]] Stand stand(GpuId g) const {
    const auto it = changed_.find(g);
    return it == changed_.end() ? Stand{node_.gpu(g).occupied, node_.gpu(g).projected} : it->second;
  }

  const Node& node_;
  std::map<GpuId, Stand> changed_;
};

// Finds a slot for the job that leaves `keep_free` of GPU `g` alone: on g if possible, else on the
// lowest GPU of the same model; there the lowest FragCost.
std::optional<Slot> find_other_slot(const Node& node, const Overlay& overlay, GpuId g,
                                    mig::SliceMask keep_free, mig::ProfileIndex profile,
                                    bool only_idle) {
  const ModelId m = node.gpu(g).model;
  const mig::Model& model = node.model(m);
  const auto best_on = [&](GpuId to) -> std::optional<Slot> {
    const Gpu& gpu = node.gpu(to);
    if (gpu.model != m || !gpu.takes_jobs() || gpu.incoming) return std::nullopt;
    if ((gpu.allowed >> profile.value() & 1U) == 0) return std::nullopt;
    std::optional<Slot> best;
    std::int32_t lowest = 0;
    for (const int start : model.profile(profile).starts) {
      const mig::Placement p{profile, static_cast<std::uint8_t>(start)};
      if (!model.fits(overlay.of(to), p)) continue;
      const Request request{.profile = *node.find_name(model.profile(profile).name)};
      if (delays_reservation(node, request, to, p)) continue;
      if (to == g && (model.range(p) & keep_free) != 0) continue;
      const bool reuse = node.idle_at(to, p) != nullptr;
      if (only_idle && !reuse) continue;
      const std::int32_t units = model.frag_units(model.with(overlay.of(to), p));
      if (best && units > lowest) continue;
      best = Slot{to, p.start, reuse};
      lowest = units;
    }
    return best;
  };
  if (const auto here = best_on(g)) return here;
  for (std::uint32_t i = 0; i < node.gpu_count(); ++i) {
    if (GpuId(i) == g) continue;
    if (const auto there = best_on(GpuId(i))) return there;
  }
  return std::nullopt;
}

bool is_ending(const Node& node, const Entry& e) {
  return e.leaving || node.job(e.job).phase == JobPhase::kStopping;
}

// The entries in the range; nullopt if one of them is not held by a job.
std::optional<std::vector<Entry>> jobs_in(const Node& node, GpuId g, mig::SliceMask range) {
  std::vector<Entry> jobs;
  for (const Entry& e : node.entries(g)) {
    if (!e.occupies() || (node.model(g).range(e.placement) & range) == 0) continue;
    if (e.state != EntryState::kHeld) return std::nullopt;
    jobs.push_back(e);
  }
  return jobs;
}

// Returns whether the instance limits admit the profile without the instances in `gone`.
bool admitted_without(const Node& node, GpuId g, mig::ProfileIndex profile,
                      const std::vector<InstanceId>& gone) {
  std::vector<mig::ProfileIndex> present;
  for (const Entry& e : node.entries(g)) {
    if (!e.occupies() || std::ranges::find(gone, e.id) != gone.end()) continue;
    present.push_back(e.placement.profile);
  }
  return mig::within_limits(node.model(g), present, profile);
}

// A service that may not be moved and could be if it allowed it. Batch jobs must be able to save
// their state, so consent is not enough.
bool could_move_with_consent(Job job) {
  if (job.kind != JobKind::kService || job.allowed_to_move) return false;
  job.allowed_to_move = true;
  return could_move(job);
}

// `with_consent`: as if all services allowed to be moved.
std::optional<UnblockingMoves> unblocking_moves_at(const Node& node, const Slot& slot,
                                                   mig::ProfileIndex profile,
                                                   const std::vector<Entry>& jobs, bool only_idle,
                                                   bool with_consent = false) {
  const mig::Model& model = node.model(slot.gpu);
  const mig::SliceMask range = model.range({profile, slot.start});
  Overlay overlay(node);
  UnblockingMoves unblocking{.moves = {}, .slot = slot};
  std::vector<InstanceId> gone;
  for (const Entry& e : jobs) {
    const Job& job = node.job(e.job);
    if (!could_move(job) && !(with_consent && could_move_with_consent(job))) return std::nullopt;
    const auto to = find_other_slot(node, overlay, slot.gpu, range, e.placement.profile, only_idle);
    if (!to) return std::nullopt;
    const MoveKind kind = to->gpu == slot.gpu ? MoveKind::kIntra : MoveKind::kInter;
    unblocking.moves.push_back({job.id, slot.gpu, *to, kind, e.job});
    const mig::Occupancy before = overlay.projected(to->gpu);
    overlay.put(to->gpu, {e.placement.profile, to->start});
    unblocking.restrained.push_back(
        what_restrains(node, job, to->gpu, before, overlay.projected(to->gpu)));
    overlay.take(slot.gpu, e.placement);
    if (kind == MoveKind::kInter) gone.push_back(e.id);
  }
  if (!admitted_without(node, slot.gpu, profile, gone)) return std::nullopt;
  return unblocking;
}

// A slot of the wanted profile that is not free, and what would have to leave it.
class BlockedSlot {
 public:
  BlockedSlot(const Node& node, bool only_idle, GpuId g, mig::Placement p)
      : node_(node), only_idle_(only_idle), slot_{g, p.start, only_idle}, placement_(p) {}

  void add_to(WaitingExplanation& result) const {
    const auto jobs = jobs_in(node_, slot_.gpu, node_.model(slot_.gpu).range(placement_));
    if (!jobs || jobs->empty()) return;
    // If no instance may be created, the job must leave exactly this one.
    if (only_idle_ && jobs->front().placement != placement_) return;
    const auto ending = [&](const Entry& e) { return is_ending(node_, e); };
    if (std::ranges::all_of(*jobs, ending)) add_awaited(*jobs, result.to_come);
    const auto leaving = [](const Entry& e) { return e.leaving; };
    if (std::ranges::any_of(*jobs, leaving) || jobs->size() > kMaxUnblockingMoves) return;
    if (jobs->size() == 1 && admitted(*jobs)) {
      result.departures_that_make_room.push_back(node_.job(jobs->front().job).id);
    }
    if (auto unblocking =
            unblocking_moves_at(node_, slot_, placement_.profile, *jobs, only_idle_)) {
      result.moves_that_make_room.push_back(*std::move(unblocking));
    } else if (unblocking_moves_at(node_, slot_, placement_.profile, *jobs, only_idle_, true)) {
      add_consenting(*jobs, result.could_move);
    }
  }

 private:
  [[nodiscard]] bool admitted(const std::vector<Entry>& without) const {
    std::vector<InstanceId> gone;
    for (const Entry& e : without) gone.push_back(e.id);
    return admitted_without(node_, slot_.gpu, placement_.profile, gone);
  }
  void add_consenting(const std::vector<Entry>& jobs, std::vector<JobId>& to) const {
    for (const Entry& e : jobs) {
      const Job& job = node_.job(e.job);
      if (could_move_with_consent(job)) to.push_back(job.id);
    }
  }
  void add_awaited(const std::vector<Entry>& jobs, std::optional<AwaitedDepartures>& best) const {
    if ((best && best->jobs.size() <= jobs.size()) || !admitted(jobs)) return;
    best = AwaitedDepartures{{}, slot_};
    for (const Entry& e : jobs) best->jobs.push_back(node_.job(e.job).id);
    std::ranges::sort(best->jobs);
  }

  const Node& node_;
  bool only_idle_;
  Slot slot_;
  mig::Placement placement_;
};

// Removes duplicates and sorts, the best first.
void sort_results(WaitingExplanation& result) {
  std::ranges::sort(result.moves_that_make_room, {},
                    [](const UnblockingMoves& r) { return std::pair(r.moves.size(), r.slot); });
  if (result.moves_that_make_room.size() > kMaxUnblockingAlternatives) {
    result.moves_that_make_room.resize(kMaxUnblockingAlternatives);
  }
  for (std::vector<JobId>* jobs : {&result.departures_that_make_room, &result.could_move}) {
    std::ranges::sort(*jobs);
    const auto twice = std::ranges::unique(*jobs);
    jobs->erase(twice.begin(), twice.end());
  }
  if (!result.moves_that_make_room.empty()) result.could_move.clear();
}

}  // namespace

WaitingExplanation explain_waiting(const Node& node, const PlacementPolicy& policy,
                                   const Request& request) {
  WaitingExplanation result;
  result.without = explain_arrival(node, policy, request).without;
  const bool only_idle = policy.only_idle || node.partitioning() == Partitioning::kStatic;
  for (std::uint32_t i = 0; i < node.gpu_count(); ++i) {
    const Gpu& gpu = node.gpu(GpuId(i));
    const auto profile = node.profile_on(gpu.model, request.profile);
    if (!gpu.takes_jobs() || !profile || !request.models.contains(gpu.model)) continue;
    for (const int start : node.model(gpu.model).profile(*profile).starts) {
      const mig::Placement p{*profile, static_cast<std::uint8_t>(start)};
      if (!avoided(node, request, GpuId(i), start)) {
        BlockedSlot(node, only_idle, GpuId(i), p).add_to(result);
      }
    }
  }
  sort_results(result);
  for (std::size_t n = 0; n < node.name_count(); ++n) {
    const ProfileName name(static_cast<std::uint16_t>(n));
    Request other = request;
    other.profile = name;
    if (!explain_arrival(node, policy, other).candidates.empty()) result.fits_now.push_back(name);
  }
  return result;
}

}  // namespace tangram::core
