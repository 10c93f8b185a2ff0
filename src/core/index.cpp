// See index.hpp.
#include "core/index.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace tangram::core {
namespace {

// Whether the idle instance stands where a new one of its profile would go (or ties with it).
bool worth_reusing(const mig::Model& model, mig::Occupancy state, mig::Placement idle) {
  const auto best = model.best_start(state, idle.profile);
  if (!best) return false;
  const mig::Placement there{idle.profile, static_cast<std::uint8_t>(*best)};
  return model.frag_units(model.with(state, idle)) == model.frag_units(model.with(state, there));
}

}  // namespace

void Index::add_model(const mig::Model& model, Threshold threshold) {
  Ranks ranks(model, threshold);
  const std::size_t ways = ranks.leavings().size();
  models_.push_back({&model, std::move(ranks), std::vector<CountedGpuSet>(ways), BitRow(ways)});
}

void Index::set_threshold(std::span<const mig::Model* const> models, Threshold threshold) {
  models_.clear();
  shelves_.clear();
  for (const mig::Model* model : models) add_model(*model, threshold);
}

Shelf& Index::shelf(const GpuSummary& summary) {
  for (Shelf& s : shelves_) {
    if (s.model == summary.model && s.allowed == summary.allowed) return s;
  }
  const PerModel& per = models_[summary.model.value()];
  const auto states = static_cast<std::size_t>(per.model->state_count());
  Shelf& s = shelves_.emplace_back();
  s.model = summary.model;
  s.allowed = summary.allowed;
  s.by_state.resize(states);
  s.reusable.resize(states * per.model->profiles().size());
  for (int g = 0; g < per.model->geometry_count(); ++g) {
    s.ranks.emplace_back(per.ranks.arrival(g).ranks.size());
  }
  return s;
}

Index::Hint Index::hint_of(const GpuSummary& summary, std::span<const Entry> entries) const {
  const mig::Model& model = *models_[summary.model.value()].model;
  Hint hint{.reusable = 0, .projected = summary.projected, .movable_starts = 0};
  for (const Entry& e : entries) {
    if (e.state == EntryState::kIdle && worth_reusing(model, summary.occupied, e.placement)) {
      hint.reusable |= 1U << e.placement.profile.value();
    }
    if (e.movable && summary.gives_jobs) {
      hint.movable_starts =
          static_cast<std::uint16_t>(hint.movable_starts | 1U << e.placement.start);
    }
  }
  return hint;
}

template <class Fn>
void Index::for_each_leaving(const GpuSummary& summary, std::span<const Entry> entries, Fn fn) {
  if (!summary.gives_jobs) return;
  PerModel& per = models_[summary.model.value()];
  for (const Entry& e : entries) {
    if (!e.movable) continue;
    const std::uint32_t leaving = per.ranks.leaving_of(summary.projected, e.placement);
    CHECK(leaving != Ranks::kNoLeaving);
    fn(per, leaving);
  }
}

void Index::insert(GpuId gpu, const GpuSummary& summary, std::span<const Entry> entries) {
  const std::uint32_t g = gpu.value();
  if (g >= hints_.size()) hints_.resize(std::max(capacity_, g + 1));
  hints_[g] = hint_of(summary, entries);
  for_each_leaving(summary, entries, [&](PerModel& per, std::uint32_t leaving) {
    if (per.leaving[leaving].empty()) per.nonempty.set(leaving);
    per.leaving[leaving].insert(g, capacity_);
  });
  if (!summary.takes_jobs) return;
  Shelf& s = shelf(summary);
  const PerModel& per = models_[summary.model.value()];
  GpuSet& same_state = s.by_state[summary.occupied.value()];
  if (same_state.empty()) {
    for (int geometry = 0; geometry < per.model->geometry_count(); ++geometry) {
      const std::uint16_t rank = per.ranks.arrival(geometry).rank_of[summary.occupied.value()];
      if (rank != kNoRank) s.ranks[static_cast<std::size_t>(geometry)].set(rank);
    }
  }
  same_state.insert(g, capacity_);
  const std::size_t row = summary.occupied.value() * per.model->profiles().size();
  for (std::uint32_t bits = hints_[g].reusable; bits != 0; bits &= bits - 1) {
    s.reusable[row + static_cast<std::size_t>(std::countr_zero(bits))].insert(g, capacity_);
  }
}

void Index::erase(GpuId gpu, const GpuSummary& summary, std::span<const Entry> entries) {
  const std::uint32_t g = gpu.value();
  for_each_leaving(summary, entries, [&](PerModel& per, std::uint32_t leaving) {
    per.leaving[leaving].erase(g);
    if (per.leaving[leaving].empty()) per.nonempty.clear(leaving);
  });
  if (!summary.takes_jobs) return;
  Shelf& s = shelf(summary);
  const PerModel& per = models_[summary.model.value()];
  GpuSet& same_state = s.by_state[summary.occupied.value()];
  same_state.erase(g);
  if (same_state.empty()) {
    for (int geometry = 0; geometry < per.model->geometry_count(); ++geometry) {
      const std::uint16_t rank = per.ranks.arrival(geometry).rank_of[summary.occupied.value()];
      if (rank != kNoRank) s.ranks[static_cast<std::size_t>(geometry)].clear(rank);
    }
  }
  const std::size_t row = summary.occupied.value() * per.model->profiles().size();
  for (std::uint32_t bits = hints_[g].reusable; bits != 0; bits &= bits - 1) {
    s.reusable[row + static_cast<std::size_t>(std::countr_zero(bits))].erase(g);
  }
}

std::uint32_t Index::first_reusable(const Shelf& shelf, mig::Occupancy state,
                                    mig::ProfileIndex profile) const {
  const mig::Model& model = *models_[shelf.model.value()].model;
  const std::size_t row = state.value() * model.profiles().size() + profile.value();
  const std::uint32_t block = shelf.reusable[row].next_block(0);
  if (block == GpuSet::kNone) return GpuSet::kNone;
  std::uint64_t members = shelf.by_state[state.value()].block(block);
  for (; members != 0; members &= members - 1) {
    const std::uint32_t gpu = block * 64 + static_cast<std::uint32_t>(std::countr_zero(members));
    if ((hints_[gpu].reusable >> profile.value() & 1U) != 0) return gpu;
  }
  CHECK(false);
  return GpuSet::kNone;
}

// The blocks tell that a GPU is near; the hints tell which ones may be meant. A hint knows the
// start but not the profile, so the caller still checks the entry.
std::uint32_t Index::next_leaving(ModelId m, std::size_t leaving, std::uint32_t from) const {
  const PerModel& per = models_[m.value()];
  const Leaving& way = per.ranks.leavings()[leaving];
  std::uint32_t gpu = from;
  while (true) {
    const std::uint32_t block = per.leaving[leaving].next_block(gpu / 64);
    if (block == GpuSet::kNone) return GpuSet::kNone;
    gpu = std::max(gpu, block * 64);
    for (; gpu < block * 64 + 64 && gpu < hints_.size(); ++gpu) {
      const Hint& hint = hints_[gpu];
      if (hint.projected == way.state && (hint.movable_starts >> way.placement.start & 1U) != 0) {
        return gpu;
      }
    }
    gpu = block * 64 + 64;
  }
}

std::size_t Index::bytes() const {
  std::size_t sum = hints_.capacity() * sizeof(Hint);
  for (const PerModel& per : models_) {
    for (const CountedGpuSet& set : per.leaving) sum += set.bytes() + sizeof set;
  }
  for (const Shelf& s : shelves_) {
    for (const GpuSet& set : s.by_state) sum += set.bytes() + sizeof set;
    for (const CountedGpuSet& set : s.reusable) sum += set.bytes() + sizeof set;
  }
  return sum;
}

}  // namespace tangram::core
