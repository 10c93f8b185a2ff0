// See ranks.hpp.
#include "core/ranks.hpp"

#include <algorithm>
#include <tuple>

namespace tangram::core {

Ranks::Ranks(const mig::Model& model, Threshold threshold)
    : profiles_(model.profiles().size()), slices_(static_cast<std::size_t>(model.memory_slices())) {
  for (int used = 0; used <= model.compute_slices(); ++used) {
    busy_at_.push_back(!threshold.lazy(used, model.compute_slices()));
  }
  for (int s = 0; s < model.state_count(); ++s) {
    const mig::Occupancy state(static_cast<std::uint16_t>(s));
    busy_.push_back(busy_at(model.compute_used(state)));
  }
  rank_arrivals(model);
  rank_leavings(model);
}

void Ranks::rank_arrivals(const mig::Model& model) {
  for (const mig::ProfileIndex p : model.representatives()) {
    ArrivalOrder order;
    order.rank_of.assign(busy_.size(), kNoRank);
    for (int s = 0; s < model.state_count(); ++s) {
      const mig::Occupancy state(static_cast<std::uint16_t>(s));
      const auto start = model.best_start(state, p);
      if (!start) continue;
      const mig::Placement best{p, static_cast<std::uint8_t>(*start)};
      order.ranks.push_back({state, busy(state), model.frag_units(model.with(state, best))});
    }
    std::ranges::sort(order.ranks, {}, [](const ArrivalOrder::Rank& r) {
      return std::tuple(r.busy, r.units, r.state);
    });
    for (std::size_t i = 0; i < order.ranks.size(); ++i) {
      order.rank_of[order.ranks[i].state.value()] = static_cast<std::uint16_t>(i);
    }
    arrivals_.push_back(std::move(order));
  }
}

void Ranks::rank_leavings(const mig::Model& model) {
  for (std::size_t i = 0; i < profiles_; ++i) {
    const mig::ProfileIndex p(static_cast<std::uint8_t>(i));
    for (int s = 0; s < model.state_count(); ++s) {
      const mig::Occupancy after(static_cast<std::uint16_t>(s));
      for (const int start : model.profile(p).starts) {
        const mig::Placement placement{p, static_cast<std::uint8_t>(start)};
        if (!model.fits(after, placement)) continue;
        leavings_.push_back({model.with(after, placement), placement, model.frag_units(after)});
      }
    }
  }
  const auto group_of = [&](const Leaving& l) {
    return group(l.placement.profile, model.compute_used(l.state));
  };
  std::ranges::sort(leavings_, {}, [&](const Leaving& l) {
    return std::tuple(group_of(l), l.units, l.state, l.placement);
  });
  leaving_of_.assign(busy_.size() * profiles_ * slices_, kNoLeaving);
  group_first_.assign(profiles_ * busy_at_.size() + 1, 0);
  for (std::size_t i = 0; i < leavings_.size(); ++i) {
    const Leaving& l = leavings_[i];
    leaving_of_[leaving_key(l.state, l.placement)] = static_cast<std::uint32_t>(i);
    group_first_[group_of(l) + 1] = static_cast<std::uint32_t>(i + 1);
  }
  for (std::size_t g = 1; g < group_first_.size(); ++g) {
    group_first_[g] = std::max(group_first_[g], group_first_[g - 1]);
  }
}

}  // namespace tangram::core
