// `paper`: conditional load balancing with the least fragmentation (§IV-C). Order of preference:
//   1. Lazy before Busy (steps 1, 2 and 4);  2. the lowest FragCost of the GPU after the
//   placement: the level, not the increase (step 2);  3. an idle instance of exactly this profile
//   at this start (step 3);  4. the lowest GPU;  5. the highest start.
// 4 and 5 are ours; the paper leaves them open. paper_key states the order and serves the plain
// scan, the oracle; paper_indexed finds the same slot without looking at every GPU.
#include <algorithm>

#include "policies/placement.hpp"

namespace tangram::policies {
namespace {

using core::GpuSet;

// The best (class, cost) that a shelf offers, and the ranks that share it.
struct Offer {
  const core::Shelf* shelf = nullptr;
  const core::ArrivalOrder* order = nullptr;
  mig::ProfileIndex profile;
  std::size_t rank = 0;
  std::int64_t cost = 0;

  [[nodiscard]] bool busy() const { return order->ranks[rank].busy; }
};

std::optional<Offer> offer_of(const core::Node& node, const core::Shelf& shelf,
                              const core::Request& request) {
  if (!request.models.contains(shelf.model)) return std::nullopt;
  const auto profile = node.profile_on(shelf.model, request.profile);
  if (!profile || (shelf.allowed >> profile->value() & 1U) == 0) return std::nullopt;
  const int geometry = node.model(shelf.model).geometry_of(*profile);
  const core::ArrivalOrder& order = node.index().ranks(shelf.model).arrival(geometry);
  const std::size_t rank =
      shelf.ranks[static_cast<std::size_t>(geometry)].next(0, order.ranks.size());
  if (rank == core::BitRow::kNone) return std::nullopt;
  const auto denominator = node.model(shelf.model).frag_denominator();
  const std::int64_t scale = node.cost_denominator() / denominator;
  return Offer{&shelf, &order, *profile, rank, scale * order.ranks[rank].units};
}

// The lowest GPU among the states of the offer: with an instance to reuse, and of all.
struct Lowest {
  std::uint32_t reusable = GpuSet::kNone;
  std::uint32_t any = GpuSet::kNone;
};

void take_lowest(const core::Node& node, const Offer& offer, Lowest& lowest) {
  const int geometry = node.model(offer.shelf->model).geometry_of(offer.profile);
  const core::BitRow& bits = offer.shelf->ranks[static_cast<std::size_t>(geometry)];
  for (std::size_t rank = offer.rank;
       rank != core::BitRow::kNone && offer.order->tied(offer.rank, rank);
       rank = bits.next(rank + 1, offer.order->ranks.size())) {
    const mig::Occupancy state = offer.order->ranks[rank].state;
    lowest.any = std::min(lowest.any, offer.shelf->by_state[state.value()].first());
    lowest.reusable =
        std::min(lowest.reusable, node.index().first_reusable(*offer.shelf, state, offer.profile));
  }
}

core::Slot slot_on(const core::Node& node, core::ProfileName name, const Lowest& lowest) {
  const bool reuse = lowest.reusable != GpuSet::kNone;
  const core::GpuId g(reuse ? lowest.reusable : lowest.any);
  const core::Gpu& gpu = node.gpu(g);
  const mig::Model& model = node.model(gpu.model);
  const mig::ProfileIndex profile = *node.profile_on(gpu.model, name);
  const auto best = static_cast<std::uint8_t>(*model.best_start(gpu.occupied, profile));
  if (!reuse) return {g, best, false};
  const unsigned best_starts = model.best_starts(gpu.occupied, profile);
  core::Slot slot{g, 0, true};
  for (const core::Entry& e : node.entries(g)) {
    if (e.state != core::EntryState::kIdle || e.placement.profile != profile) continue;
    if ((best_starts >> e.placement.start & 1U) == 0) continue;
    slot.start = std::max(slot.start, e.placement.start);
  }
  return slot;
}

}  // namespace

core::Key paper_key(const core::Node& node, const core::Request& request, const core::Slot& slot) {
  const Seen seen = look(node, request, slot);
  return {node.busy(slot.gpu) ? 1 : 0, node.cost(seen.gpu.model, seen.after), slot.reuse ? 0 : 1,
          slot.gpu.value(), -std::int64_t{slot.start}};
}

std::optional<core::Slot> paper_indexed(const core::Node& node, const core::Request& request) {
  std::optional<Offer> best;
  Lowest lowest;
  for (const core::Shelf& shelf : node.index().shelves()) {
    const auto offer = offer_of(node, shelf, request);
    if (!offer) continue;
    const auto rank = [](const Offer& o) { return std::pair(o.busy(), o.cost); };
    if (best && rank(*best) < rank(*offer)) continue;
    if (!best || rank(*offer) < rank(*best)) lowest = {};
    best = offer;
    take_lowest(node, *offer, lowest);
  }
  if (!best) return std::nullopt;
  return slot_on(node, request.profile, lowest);
}

}  // namespace tangram::policies
