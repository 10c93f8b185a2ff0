// World: executes the scheduler's actions in virtual time. Changes to one GPU are made one after
// another, as by its queue in the daemon; a released instance may refuse destruction for a moment;
// a replica takes a process start and the loading of its weights; jobs progress at the speed that
// their slice and their neighbours allow, and when a neighbour comes or goes the speeds on that GPU
// are recomputed.
//
// A job is fluid: passes left, and seconds per pass now. In a move, the query that is being
// answered ends on the original; the next ones go to the replica. The world decides nothing; it
// replies to every action, in an order that depends on time and order of entry only.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/scheduler.hpp"
#include "sim/contention.hpp"
#include "sim/random.hpp"
#include "sim/simulate.hpp"
#include "sim/timeline.hpp"

namespace tangram::sim {

class World {
 public:
  World(const Setting& setting, const Workload& workload, const Observer& observer,
        const core::Policies& policies);
  Summary run();

 private:
  using Slot = std::uint32_t;
  static constexpr Slot kNoSlot = 0xFFFFFFFFU;

  struct Run {
    core::RunId run = core::kNoRun;
    core::GpuId gpu{};
    core::InstanceId instance{};
    bool stopping = false;
  };
  // A task that has arrived and not ended. Fields that every event uses come first.
  struct Live {
    core::JobId id;
    std::int16_t serving = -1;  // index of the run that does the work
    std::int16_t next = -1;     // index of the run that continues after the goal
    std::int16_t model = -1;
    std::uint8_t profile = 0;
    Run runs[2]{};
    Instant as_of{};        // the time of `left`
    double left = 0;        // passes
    double pass_s = 0;      // now
    double goal = 0;        // passes left at the milestone
    double serving_s = 0;   // time spent in passes
    Stream stream{};        // on the GPU where it is served
    Slot before = kNoSlot;  // neighbours among those served on its GPU
    Slot after = kNoSlot;
    double passes = 0;  // of the whole task
    double prompt_tokens = 0;
    double prefill_s = 0;  // per pass, mean
    Instant arrival{};
    Instant placed{};
    Instant ready{};
    Instant done{};  // end of its work
    std::uint32_t moves = 0;
    std::uint32_t last_gpu = 0;
    float transfer_share = 0;
    std::uint16_t queries = 0;
  };
  struct Released {
    core::InstanceId instance = core::kNoInstance;
    Instant free_from{};  // when it can be destroyed
  };
  struct alignas(64) GpuState {
    Instant busy_until{};    // its queue of changes
    Released released[2]{};  // recently; any more are in more_released_
    std::int64_t cost = 0;   // as in cost_sum_
    Slot first = kNoSlot;    // head of the list of jobs served here
    int used = 0;            // compute slices, as in used_sum_
  };
  // The speed of a language model on a profile of a GPU model; computed once.
  struct Speed {
    Stream stream;
    double prefill_s_per_token = 0;
    double load_s = 0;
  };

  // world.cpp
  void add_gpus(const Setting& setting);
  void add_speeds(const mig::Model& model);
  bool process_next();
  void deliver(const Reply& reply);
  void arrive();
  void step(const core::Event& event);
  void perform(const core::CreateInstance& a);
  void perform(const core::DestroyInstance& a);
  void perform(const core::StartJob& a);
  void perform(const core::SwitchTraffic& a);
  void perform(const core::StopJob& a);
  void perform(const core::WakeAt& a) { wake_ = a.when; }
  void perform(const core::JobReport& a);
  void perform(const core::MoveReport& a);
  void perform(const core::GpuReport&) {}
  // A job's id contains its slot, so that no lookup is needed.
  static constexpr unsigned kSlotBits = 32;
  [[nodiscard]] Slot find(core::JobId id) const {
    const auto slot = static_cast<Slot>(id.value());
    return lives_[slot].id == id ? slot : kNoSlot;
  }
  [[nodiscard]] static int run_index(const Live& live, core::RunId run);
  void reply(Duration delay, Reply reply);
  Instant worker_time(core::GpuId gpu, Instant from, Duration takes);

  // world_jobs.cpp
  [[nodiscard]] const Speed& speed(core::GpuId gpu, const Live& live) const;
  [[nodiscard]] double start_seconds(core::GpuId gpu, const Live& live) const;
  [[nodiscard]] double seconds_alone(const Live& live) const;
  void serve(Slot slot, int run);
  void stop_serving(Slot slot);
  void update_progress(Live& live);
  void update_speeds(core::GpuId gpu);
  void update_speed_alone(Slot slot);
  void set_milestone(Slot slot);
  void reach_milestone();
  void switch_stream(Slot slot);
  void mark_done(const Live& live);
  void free_slot(Slot slot);
  void release(Live& live, int run);

  // world_account.cpp
  void advance(Instant to);
  void touch(core::GpuId gpu) { touched_.push_back(gpu); }
  void account();
  void sample(Instant at);
  void record(const Live& live);
  void count_instance(core::GpuId gpu, core::InstanceId instance, int change);

  const Workload& workload_;
  const Observer& observer_;
  const Knobs& knobs_;
  double limit_factor_;
  core::Scheduler scheduler_;
  core::Actions actions_;
  Instant now_{};
  Replies replies_;
  Milestones milestones_;
  std::optional<Instant> wake_;
  Task next_task_;
  bool more_tasks_ = false;
  std::uint64_t next_id_ = 1;
  std::vector<Live> lives_;
  std::vector<Slot> free_;
  std::vector<GpuState> gpus_;
  std::vector<Released> more_released_;
  std::vector<std::vector<Speed>> speeds_;  // by GPU model, then profile and language model
  std::vector<std::vector<int>>
      profile_of_;  // by GPU model and its profile: the workload's profile
  Random random_;

  Summary summary_;
  std::vector<core::GpuId> touched_;
  std::int64_t cost_sum_ = 0;
  std::int64_t used_sum_ = 0;
  std::int64_t all_compute_ = 0;
  std::uint64_t live_count_ = 0;
  std::uint64_t unfinished_ = 0;  // live tasks whose work is not done
  double fragmentation_seconds_ = 0;
  double used_seconds_ = 0;
  double waiting_seconds_ = 0;
  Instant last_finish_{};
  std::int64_t next_sample_ = 0;  // number of the next periodic sample
  bool begun_ = false;            // false while the GPUs are being added: no samples
  bool changed_ = false;
  std::vector<std::uint32_t> desired_;
  std::vector<std::uint32_t> actual_;
};

}  // namespace tangram::sim
