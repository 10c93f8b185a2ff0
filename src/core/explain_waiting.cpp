// See explain.hpp: why a job waits and what would unblock it. A way to make room is found by
// taking a legal place of the wanted profile and finding other places for the movable jobs that
// stand there, one after the other, each into slices that are free at that moment (replica first).
// Only moves that would be begun if they were asked for now are named (see asked_move.hpp).
#include <algorithm>
#include <map>

#include "core/explain.hpp"
#include "core/restraint.hpp"
#include "mig/limits.hpp"

namespace tangram::core {
namespace {

// The node with a few GPUs' occupancies changed by the moves considered so far.
class Overlay {
 public:
  explicit Overlay(const Node& node) : node_(node) {}

  [[nodiscard]] mig::Occupancy of(GpuId g) const {
    const auto it = changed_.find(g);
    return it == changed_.end() ? node_.gpu(g).occupied : it->second;
  }
  void set(GpuId g, mig::Occupancy o) { changed_[g] = o; }

 private:
  const Node& node_;
  std::map<GpuId, mig::Occupancy> changed_;
};

// Where the job can go so that it leaves `keep_free` of GPU `g` alone: on g if possible, else the
// lowest GPU of the same model; there the lowest FragCost.
std::optional<Slot> other_place(const Node& node, const Overlay& overlay, GpuId g,
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

// What stands in the range, if all of it are jobs.
std::optional<std::vector<Entry>> jobs_in(const Node& node, GpuId g, mig::SliceMask range) {
  std::vector<Entry> jobs;
  for (const Entry& e : node.entries(g)) {
    if (!e.occupies() || (node.model(g).range(e.placement) & range) == 0) continue;
    if (e.state != EntryState::kHeld || e.leaving) return std::nullopt;
    jobs.push_back(e);
  }
  return jobs;
}

// Whether the instance limits admit the profile once those jobs have left the GPU.
bool admitted_without(const Node& node, GpuId g, mig::ProfileIndex profile,
                      const std::vector<JobSlot>& gone) {
  std::vector<mig::ProfileIndex> present;
  for (const Entry& e : node.entries(g)) {
    if (!e.occupies() || std::ranges::find(gone, e.job) != gone.end()) continue;
    present.push_back(e.placement.profile);
  }
  return mig::within_limits(node.model(g), present, profile);
}

std::optional<Room> room_at(const Node& node, const Slot& slot, mig::ProfileIndex profile,
                            const std::vector<Entry>& jobs, bool only_idle) {
  const mig::Model& model = node.model(slot.gpu);
  const mig::SliceMask range = model.range({profile, slot.start});
  Overlay overlay(node);
  Room room{.moves = {}, .slot = slot};
  std::vector<JobSlot> gone;
  for (const Entry& e : jobs) {
    if (!could_move(node.job(e.job))) return std::nullopt;  // a cooldown restrains no people
    const auto to = other_place(node, overlay, slot.gpu, range, e.placement.profile, only_idle);
    if (!to) return std::nullopt;
    const MoveKind kind = to->gpu == slot.gpu ? MoveKind::kIntra : MoveKind::kInter;
    room.moves.push_back({node.job(e.job).id, slot.gpu, *to, kind, e.job});
    overlay.set(to->gpu, model.with(overlay.of(to->gpu), {e.placement.profile, to->start}));
    overlay.set(slot.gpu, model.without(overlay.of(slot.gpu), e.placement));
    if (kind == MoveKind::kInter) gone.push_back(e.job);
  }
  if (!admitted_without(node, slot.gpu, profile, gone)) return std::nullopt;
  return room;
}

}  // namespace

WaitingExplanation explain_waiting(const Node& node, const PlacementPolicy& policy,
                                   const Request& request) {
  WaitingExplanation result;
  result.without = explain_arrival(node, policy, request).without;
  const bool only_idle = policy.only_idle || node.partitioning() == Partitioning::kStatic;
  const bool moves_begin = node.moves_under_way() < node.tuning().restraint.most_moves;
  for (std::uint32_t i = 0; i < node.gpu_count(); ++i) {
    const Gpu& gpu = node.gpu(GpuId(i));
    const auto profile = node.profile_on(gpu.model, request.profile);
    if (!gpu.takes_jobs() || !profile) continue;
    const mig::Model& model = node.model(gpu.model);
    for (const int start : model.profile(*profile).starts) {
      const mig::Placement p{*profile, static_cast<std::uint8_t>(start)};
      const auto jobs = jobs_in(node, GpuId(i), model.range(p));
      if (!jobs || jobs->empty() || jobs->size() > kMostMovesPerRoom) continue;
      // What a job leaves behind must be the very instance if none may be made.
      if (only_idle && jobs->front().placement != p) continue;
      if (jobs->size() == 1 && admitted_without(node, GpuId(i), *profile, {jobs->front().job})) {
        result.departures_that_make_room.push_back(node.job(jobs->front().job).id);
      }
      if (!moves_begin) continue;
      const Slot slot{GpuId(i), p.start, only_idle};
      if (auto room = room_at(node, slot, *profile, *jobs, only_idle)) {
        result.moves_that_make_room.push_back(*std::move(room));
      }
    }
  }
  std::ranges::sort(result.moves_that_make_room, {},
                    [](const Room& r) { return std::pair(r.moves.size(), r.slot); });
  if (result.moves_that_make_room.size() > kMostRooms) {
    result.moves_that_make_room.resize(kMostRooms);
  }
  std::ranges::sort(result.departures_that_make_room);
  const auto twice = std::ranges::unique(result.departures_that_make_room);
  result.departures_that_make_room.erase(twice.begin(), twice.end());
  for (std::size_t n = 0; n < node.name_count(); ++n) {
    const ProfileName name(static_cast<std::uint16_t>(n));
    Request other = request;
    other.profile = name;
    if (!explain_arrival(node, policy, other).candidates.empty()) result.fits_now.push_back(name);
  }
  return result;
}

}  // namespace tangram::core
