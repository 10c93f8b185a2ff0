// World: what the scheduler's actions do and how long that takes, in virtual time. Changes to one
// GPU happen one after another, as its worker in the daemon would make them; a released instance
// may refuse destruction for a moment; a replica takes a process start and the loading of its
// weights; jobs progress at the speed that their slice and their neighbours allow, and when a
// neighbour comes or goes the speeds of all on that GPU are computed anew.
//
// A job is fluid: so many passes left, so many seconds per pass now. In a move, the query that is
// being answered ends on the original; the next ones go to the replica. One rule: the world decides
// nothing; it answers every action, and in an order that depends on nothing but time and entry.
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
  static constexpr Slot kNobody = 0xFFFFFFFFU;

  struct Run {
    core::RunId run = core::kNoRun;
    core::GpuId gpu{};
    core::InstanceId instance{};
    bool stopping = false;
  };
  // A task that has arrived and is not over. What every event touches comes first.
  struct Live {
    core::JobId id;
    std::int16_t serving = -1;  // which of the runs does the work
    std::int16_t next = -1;     // which will after the goal
    std::int16_t model = -1;
    std::uint8_t profile = 0;
    Run runs[2]{};
    Instant as_of{};        // when `left` was true
    double left = 0;        // passes
    double pass_s = 0;      // now
    double goal = 0;        // passes left at the milestone
    double serving_s = 0;   // time spent in passes
    Stream stream{};        // where it is served now
    Slot before = kNobody;  // neighbours among those served on its GPU
    Slot after = kNobody;
    double passes = 0;  // of the whole task
    double prompt_tokens = 0;
    double prefill_s = 0;  // of each pass, in the mean
    Instant arrival{};
    Instant placed{};
    Instant ready{};
    Instant done{};  // its work
    std::uint32_t moves = 0;
    std::uint32_t last_gpu = 0;
    float transfer_share = 0;
    std::uint16_t queries = 0;
  };
  struct Released {
    core::InstanceId instance = core::kNoInstance;
    Instant free_from{};  // can be destroyed
  };
  struct alignas(64) GpuState {
    Instant busy_until{};    // its worker
    Released released[2]{};  // lately; more at a time are rare and stand in more_released_
    std::int64_t cost = 0;   // as accounted
    Slot first = kNobody;    // of those served here
    int used = 0;            // compute slices, as accounted
  };
  // Of a language model on a profile of a GPU model; computed once.
  struct Speed {
    Stream stream;
    double prefill_s_per_token = 0;
    double load_s = 0;
  };

  // world.cpp
  void add_gpus(const Setting& setting);
  void know_model(const mig::Model& model);
  bool next_thing();
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
  // A job's id carries its slot below its number, so that nothing has to be looked up.
  static constexpr unsigned kSlotBits = 32;
  [[nodiscard]] Slot find(core::JobId id) const {
    const auto slot = static_cast<Slot>(id.value());
    return lives_[slot].id == id ? slot : kNobody;
  }
  [[nodiscard]] static int run_index(const Live& live, core::RunId run);
  void reply(Duration delay, Reply reply);
  Instant worker_time(core::GpuId gpu, Instant from, Duration takes);

  // world_jobs.cpp
  [[nodiscard]] const Speed& speed(core::GpuId gpu, const Live& live) const;
  [[nodiscard]] double start_seconds(core::GpuId gpu, const Live& live) const;
  void serve(Slot slot, int run);
  void leave(Slot slot);
  void settle(Live& live);
  void retime(core::GpuId gpu);
  void retime_alone(Slot slot);
  void set_milestone(Slot slot);
  void reach_milestone();
  void switch_stream(Slot slot);
  void over(const Live& live);
  void finished(Slot slot);
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
  std::vector<std::vector<Speed>> speeds_;    // by GPU model, then profile and language model
  std::vector<std::vector<int>> profile_of_;  // by GPU model, then its profile: the workload's
  Random chance_;

  Summary summary_;
  std::vector<core::GpuId> touched_;
  std::int64_t cost_sum_ = 0;
  std::int64_t used_sum_ = 0;
  std::int64_t all_compute_ = 0;
  std::uint64_t live_count_ = 0;
  std::uint64_t unfinished_ = 0;  // those of them whose work is not done
  double fragmentation_seconds_ = 0;
  double used_seconds_ = 0;
  double waiting_seconds_ = 0;
  Instant last_finish_{};
  std::int64_t next_sample_ = 0;  // which sample is due
  bool begun_ = false;            // the node is there; before, there is nothing to sample
  bool changed_ = false;
  std::vector<std::uint32_t> desired_;
  std::vector<std::uint32_t> actual_;
};

}  // namespace tangram::sim
