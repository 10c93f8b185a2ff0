// Index: which GPUs are in which state, so that a decision costs the same with four GPUs and with a
// million. GPUs of one model to which the same profiles may be added are on one shelf, sorted by
// occupancy; also, which of them have an idle instance worth reusing, and which hold movable jobs.
// It is a function of the GPUs it was given; Node::Edit updates it with every change. The plain
// policies are its oracle.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/bit_row.hpp"
#include "core/entry_pool.hpp"
#include "core/gpu_set.hpp"
#include "core/ids.hpp"
#include "core/ranks.hpp"
#include "mig/model.hpp"

namespace tangram::core {

// What the index needs of a GPU besides its entries.
struct GpuSummary {
  ModelId model;
  mig::Occupancy occupied;    // as it is
  mig::Occupancy projected;   // as if all moves under way had ended
  std::uint32_t allowed = 0;  // bit p: the instance limits admit one more of profile p
  bool takes_jobs = false;    // a candidate for arrivals and moves
  bool gives_jobs = false;    // its jobs can be moved
};

// What the index holds of a GPU: enough to remove it, or to see what has changed.
struct IndexStand {
  GpuSummary summary;
  std::uint8_t movable_count = 0;
  std::array<mig::Placement, mig::kMaxMemorySlices> movable{};  // jobs that a move may take
};

// GPUs of one model to which the same profiles may be added.
struct Shelf {
  ModelId model;
  std::uint32_t allowed = 0;
  std::vector<GpuSet> by_state;         // by occupancy
  std::vector<BitRow> ranks;            // by geometry: which ranks of its ArrivalOrder have a GPU
  std::vector<CountedGpuSet> reusable;  // by state * profiles + profile: see Index::reusable()
};

class Index {
 public:
  void add_model(const mig::Model& model, Threshold threshold);
  void set_capacity(std::uint32_t gpus) { capacity_ = gpus; }
  // Empties the index: all GPUs must be inserted again.
  void set_threshold(std::span<const mig::Model* const> models, Threshold threshold);

  void insert(GpuId gpu, const GpuSummary& summary, std::span<const Entry> entries);
  // Updates the index to the GPU's current state; what is equal is not touched.
  [[nodiscard]] static IndexStand stand(const GpuSummary& summary, std::span<const Entry> entries);
  void update(GpuId gpu, const IndexStand& before, const IndexStand& now,
              std::span<const Entry> entries);
  // A job there became movable or no longer is; all else is equal.
  void set_movable(GpuId gpu, const GpuSummary& summary, mig::Placement placement, bool movable);

  [[nodiscard]] const Ranks& ranks(ModelId m) const { return models_[m.value()].ranks; }
  [[nodiscard]] std::span<const Shelf> shelves() const { return shelves_; }

  // The lowest GPU of that shelf and state with an idle instance of the profile at a start that
  // leaves the state's lowest FragCost for it; GpuSet::kNone if there is none.
  [[nodiscard]] std::uint32_t first_reusable(const Shelf& shelf, mig::Occupancy state,
                                             mig::ProfileIndex profile) const;
  // GPUs (of a model) from which a movable job can leave in this way, in blocks of 64; the caller
  // checks each. next() goes through them in ascending order.
  [[nodiscard]] const BitRow& leavings(ModelId m) const { return models_[m.value()].nonempty; }
  [[nodiscard]] std::uint32_t next_leaving(ModelId m, std::size_t leaving,
                                           std::uint32_t from) const;
  [[nodiscard]] std::size_t bytes() const;

 private:
  struct PerModel {
    const mig::Model* model;
    Ranks ranks;
    std::vector<CountedGpuSet> leaving;  // by Leaving
    BitRow nonempty;                     // by Leaving
  };
  // What a scan of a block needs, apart from the GPUs themselves to save cache lines.
  struct Hint {
    std::uint32_t reusable = 0;  // bit p: see first_reusable()
    mig::Occupancy projected;
    std::uint16_t movable_starts = 0;
  };
  Shelf& shelf(const GpuSummary& summary);
  [[nodiscard]] Hint hint_of(const IndexStand& stand, std::span<const Entry> entries) const;
  void add_leaving(std::uint32_t gpu, const GpuSummary& summary, mig::Placement placement);
  void drop_leaving(std::uint32_t gpu, const GpuSummary& summary, mig::Placement placement);
  void update_leavings(std::uint32_t gpu, const IndexStand& before, const IndexStand& now);
  void enter_shelf(std::uint32_t gpu, const GpuSummary& summary);
  void leave_shelf(std::uint32_t gpu, const GpuSummary& summary, std::uint32_t reusable);

  std::uint32_t capacity_ = 0;
  std::vector<PerModel> models_;
  std::vector<Shelf> shelves_;
  std::vector<Hint> hints_;  // by GPU
};

}  // namespace tangram::core
