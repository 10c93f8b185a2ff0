// See index.hpp.
#include "core/index.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace tangram::core {
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

IndexStand Index::stand(const GpuSummary& summary, std::span<const Entry> entries) {
  IndexStand stand;
  stand.summary = summary;
  if (!summary.gives_jobs) return stand;
  for (const Entry& e : entries) {
    if (e.movable) stand.movable[stand.movable_count++] = e.placement;
  }
  return stand;
}

// An idle instance is worth reusing if it stands where a new one would go, or ties with that.
Index::Hint Index::hint_of(const IndexStand& stand, std::span<const Entry> entries) const {
  const mig::Model& model = *models_[stand.summary.model.value()].model;
  Hint hint{.reusable = 0, .projected = stand.summary.projected, .movable_starts = 0};
  for (const Entry& e : entries) {
    if (e.state != EntryState::kIdle) continue;
    const unsigned best = model.best_starts(stand.summary.occupied, e.placement.profile);
    hint.reusable |= (best >> e.placement.start & 1U) << e.placement.profile.value();
  }
  for (std::size_t i = 0; i < stand.movable_count; ++i) {
    const unsigned bits = hint.movable_starts | 1U << stand.movable[i].start;
    hint.movable_starts = static_cast<std::uint16_t>(bits);
  }
  return hint;
}

void Index::add_leaving(std::uint32_t gpu, const GpuSummary& summary, mig::Placement placement) {
  PerModel& per = models_[summary.model.value()];
  const std::uint32_t leaving = per.ranks.leaving_of(summary.projected, placement);
  CHECK(leaving != Ranks::kNoLeaving);
  CountedGpuSet& set = per.leaving[leaving];
  if (set.empty()) per.nonempty.set(leaving);
  set.insert(gpu, capacity_);
}

void Index::drop_leaving(std::uint32_t gpu, const GpuSummary& summary, mig::Placement placement) {
  PerModel& per = models_[summary.model.value()];
  const std::uint32_t leaving = per.ranks.leaving_of(summary.projected, placement);
  CHECK(leaving != Ranks::kNoLeaving);
  CountedGpuSet& set = per.leaving[leaving];
  set.erase(gpu);
  if (set.empty()) per.nonempty.clear(leaving);
}

void Index::update_leavings(std::uint32_t gpu, const IndexStand& before, const IndexStand& now) {
  const auto old_jobs = std::span(before.movable).first(before.movable_count);
  const auto new_jobs = std::span(now.movable).first(now.movable_count);
  const bool same_state = before.summary.projected == now.summary.projected;
  const auto stays = [&](mig::Placement p, std::span<const mig::Placement> others) {
    return same_state && std::ranges::find(others, p) != others.end();
  };
  for (const mig::Placement p : old_jobs) {
    if (!stays(p, new_jobs)) drop_leaving(gpu, before.summary, p);
  }
  for (const mig::Placement p : new_jobs) {
    if (!stays(p, old_jobs)) add_leaving(gpu, now.summary, p);
  }
}

void Index::enter_shelf(std::uint32_t gpu, const GpuSummary& summary) {
  Shelf& s = shelf(summary);
  const PerModel& per = models_[summary.model.value()];
  GpuSet& same_state = s.by_state[summary.occupied.value()];
  if (same_state.empty()) {
    for (int geometry = 0; geometry < per.model->geometry_count(); ++geometry) {
      const std::uint16_t rank = per.ranks.arrival(geometry).rank_of[summary.occupied.value()];
      if (rank != kNoRank) s.ranks[static_cast<std::size_t>(geometry)].set(rank);
    }
  }
  same_state.insert(gpu, capacity_);
  const std::size_t row = summary.occupied.value() * per.model->profiles().size();
  for (std::uint32_t bits = hints_[gpu].reusable; bits != 0; bits &= bits - 1) {
    s.reusable[row + static_cast<std::size_t>(std::countr_zero(bits))].insert(gpu, capacity_);
  }
}

void Index::leave_shelf(std::uint32_t gpu, const GpuSummary& summary, std::uint32_t reusable) {
  Shelf& s = shelf(summary);
  const PerModel& per = models_[summary.model.value()];
  GpuSet& same_state = s.by_state[summary.occupied.value()];
  same_state.erase(gpu);
  if (same_state.empty()) {
    for (int geometry = 0; geometry < per.model->geometry_count(); ++geometry) {
      const std::uint16_t rank = per.ranks.arrival(geometry).rank_of[summary.occupied.value()];
      if (rank != kNoRank) s.ranks[static_cast<std::size_t>(geometry)].clear(rank);
    }
  }
  const std::size_t row = summary.occupied.value() * per.model->profiles().size();
  for (std::uint32_t bits = reusable; bits != 0; bits &= bits - 1) {
    s.reusable[row + static_cast<std::size_t>(std::countr_zero(bits))].erase(gpu);
  }
}

void Index::insert(GpuId gpu, const GpuSummary& summary, std::span<const Entry> entries) {
  const std::uint32_t g = gpu.value();
  if (g >= hints_.size()) hints_.resize(std::max(capacity_, g + 1));
  const IndexStand now = stand(summary, entries);
  hints_[g] = hint_of(now, entries);
  for (std::size_t i = 0; i < now.movable_count; ++i) add_leaving(g, summary, now.movable[i]);
  if (summary.takes_jobs) enter_shelf(g, summary);
}

void Index::update(GpuId gpu, const IndexStand& before, const IndexStand& now,
                   std::span<const Entry> entries) {
  const std::uint32_t g = gpu.value();
  const std::uint32_t reusable = hints_[g].reusable;
  hints_[g] = hint_of(now, entries);
  update_leavings(g, before, now);
  const GpuSummary& was = before.summary;
  const GpuSummary& is = now.summary;
  if (was.takes_jobs == is.takes_jobs && was.allowed == is.allowed && was.occupied == is.occupied &&
      reusable == hints_[g].reusable) {
    return;
  }
  if (was.takes_jobs) leave_shelf(g, was, reusable);
  if (is.takes_jobs) enter_shelf(g, is);
}

void Index::set_movable(GpuId gpu, const GpuSummary& summary, mig::Placement placement,
                        bool movable) {
  if (!summary.gives_jobs) return;
  const unsigned bit = 1U << placement.start;  // no other job starts there
  std::uint16_t& starts = hints_[gpu.value()].movable_starts;
  if (movable) {
    add_leaving(gpu.value(), summary, placement);
    starts = static_cast<std::uint16_t>(starts | bit);
  } else {
    drop_leaving(gpu.value(), summary, placement);
    starts = static_cast<std::uint16_t>(starts & ~bit);
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

// The blocks contain a matching GPU; the hints say which GPUs may match. A hint has the start but
// not the profile, so the caller still checks the entry.
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
