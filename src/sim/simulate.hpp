// simulate(): one workload on one node under one policy, in virtual time. The scheduler is the
// daemon's; its environment is the world (world.hpp). The outcome depends on the arguments only.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "core/action.hpp"
#include "core/tuning.hpp"
#include "mig/model.hpp"
#include "sim/distribution.hpp"
#include "sim/knobs.hpp"
#include "sim/workload.hpp"

namespace tangram::sim {

struct GpuSetting {
  std::shared_ptr<const mig::Model> model;
  std::uint32_t count = 1;
  std::vector<mig::Placement> layout;  // of each GPU, for static partitioning
};

struct Setting {
  std::vector<GpuSetting> gpus;
  core::Tuning tuning;
  core::Partitioning partitioning = core::Partitioning::kDynamic;
  Knobs knobs;
  // Tasks have time limits of so many times the time that they take alone; 0: no limits. The world
  // does not enforce them: with contention, a task can exceed a factor that is close to 1.
  double limit_factor = 0;
};

inline constexpr std::size_t kLanguageModels = 4;

struct Summary {
  std::uint64_t submitted = 0;
  std::uint64_t refused = 0;                       // profiles that no GPU of the node has
  Distribution wait;                               // s: from arrival to placement
  Distribution execution;                          // s: from placement to the end
  Distribution makespan;                           // s: both
  std::array<Distribution, kLanguageModels> tpot;  // s per output token, by language model

  std::uint64_t intra_moves = 0;  // begun
  std::uint64_t inter_moves = 0;
  std::uint64_t moves_done = 0;
  std::uint64_t moves_ended_early = 0;  // the job ended first, or the move was rolled back
  std::uint64_t created = 0;            // instances
  std::uint64_t destroyed = 0;
  std::uint64_t starts = 0;        // of jobs and replicas; the others reused an instance
  std::uint64_t in_use_waits = 0;  // destructions delayed by "in use"

  double end_s = 0;            // of the last task
  double fragmentation = 0;    // FragCost, mean over GPUs and time
  double compute_used = 0;     // share of compute slices held, mean over time
  double waiting = 0;          // tasks in the queue, mean over time
  std::uint64_t max_live = 0;  // tasks waiting or running at a time
  std::uint64_t steps = 0;     // of the scheduler
  double work_submitted = 0;   // passes (or seconds alone) of all tasks
  double work_done = 0;        // the same, as integrated over time
};

struct JobRow {
  std::uint64_t id = 0;
  std::string_view profile;
  std::string_view model;  // language model or empty
  double arrival_s = 0;
  double placed_s = 0;
  double ready_s = 0;
  double finished_s = 0;
  double tpot_s = 0;
  std::uint32_t gpu = 0;  // where it ended
  std::uint32_t moves = 0;
};

struct Sample {
  double at_s = 0;
  double fragmentation = 0;
  double compute_used = 0;
  std::uint64_t waiting = 0;
  std::uint64_t live = 0;
  std::span<const std::uint32_t> desired;  // by workload profile: wanted by unfinished tasks
  std::span<const std::uint32_t> actual;   // instances that exist
};

struct MoveRow {
  double at_s = 0;
  std::uint64_t job = 0;    // as in JobRow
  core::MoveReport report;  // its job id is the world's own
};

// Callbacks for more than the summary. Empty functions are not called.
struct Observer {
  std::function<void(const JobRow&)> job;
  std::function<void(const Sample&)> sample;
  double sample_every_s = 0;  // 0: after every change
  std::function<void(const MoveRow&)> move;
  std::atomic<std::uint64_t>* finished = nullptr;  // counts finished tasks
};

[[nodiscard]] Result<Summary> simulate(const Setting& setting, const Workload& workload,
                                       const Observer& observer = {});

// The restraint of the paper's experiments: none.
[[nodiscard]] core::Restraint no_restraint();

}  // namespace tangram::sim
