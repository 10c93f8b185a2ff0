// Scheduler: the paper's method as a pure state machine. The daemon drives it in real time, the
// simulator in virtual time; both feed events to step() and perform the actions it returns.
//
// The life of a job: submitted → waits (first come, first served, strict) → placed (a slot is
// reserved, overlapping idle instances are destroyed, its own is created; or an idle one is reused)
// → started → running → exited or stopped → its instance is idle. The life of a move (§IV-D):
// target instance → replica started → ready → traffic switched (the point of commitment) → original
// drained → original stopped. Before that point every failure rolls back; after it the move goes
// forward.
//
// After each event, the queue is tried if something changed for its head; then moves are planned
// for the GPUs that jobs have left. step() is a function of the state, the time and the event: no
// I/O, no clock, no randomness, no unordered iteration.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/instant.hpp"
#include "core/action.hpp"
#include "core/event.hpp"
#include "core/gpu_set.hpp"
#include "core/node.hpp"
#include "core/policy.hpp"
#include "core/restraint.hpp"
#include "core/timers.hpp"
#include "core/usage.hpp"

namespace tangram::core {

inline constexpr Duration kFirstBackOff = std::chrono::seconds(30);
inline constexpr Duration kLongestBackOff = std::chrono::hours(1);
// So often in a row a job may find no instance, or not start in it; then it is given up.
inline constexpr int kMaxCreateFailures = 3;
inline constexpr int kMaxQuestionsPerStep = 64;  // to the migration policy; the rest follow at once

struct Saved;         // saved.hpp
struct SavedChanges;  // saved.hpp
struct SavedRest;     // saved.hpp

class Scheduler {
 public:
  Scheduler(const Tuning& tuning, const Policies& policies,
            Partitioning partitioning = Partitioning::kDynamic);

  // Handles one event and appends what is to be done. `now` never goes back.
  void step(Instant now, const Event& event, Actions& out);

  [[nodiscard]] const Node& node() const { return node_; }
  [[nodiscard]] const Policies& policies() const { return policies_; }
  [[nodiscard]] std::vector<JobId> waiting() const;  // in the order of the queue
  [[nodiscard]] std::size_t waiting_count() const { return queue_length_; }
  // Where a job stands in the queue, or would stand.
  struct QueuePlace {
    std::vector<JobId> ahead;  // the queued jobs that go first, the first one first
    ModelSet models;           // it may start on GPUs of these models, if it fits
    ModelSet queued;           // its other models: earlier jobs go first there
  };
  [[nodiscard]] QueuePlace place_in_queue(const Job& job) const;
  // Of a job that would be submitted now.
  [[nodiscard]] QueuePlace place_in_queue(ProfileName profile, std::uint32_t user = 0) const;
  // For each queued job, in the order of the queue, how many go first.
  struct QueuedJob {
    JobId job;
    std::size_t ahead = 0;
  };
  [[nodiscard]] std::vector<QueuedJob> queued_jobs() const;
  [[nodiscard]] bool awaits_planning(GpuId g) const {
    return to_plan_.contains(g.value()) || restrained_.contains(g.value());
  }
  // The outstanding WakeAt, for a body that was restarted.
  [[nodiscard]] std::optional<Instant> woken_at() const { return woken_at_; }
  void reserve_gpus(std::uint32_t count) { node_.reserve_gpus(count); }

  // Between two steps: the whole state, and a scheduler that continues from it exactly as this one
  // would. `policies` must be those that the saved tuning names. Fails if the state is invalid (a
  // damaged store).
  [[nodiscard]] Saved save() const;
  [[nodiscard]] static Result<Scheduler> restore(const Saved& saved, const Policies& policies);
  // Records changes from now on; take_changes() returns them (perhaps with unchanged ones) and
  // starts over. Costs nothing until it is turned on.
  void track_changes() { node_.touched().turn_on(); }
  [[nodiscard]] SavedChanges take_changes();

 private:
  // scheduler_jobs.cpp
  void on(const JobSubmitted& e);
  void on(const JobCancelled& e);
  void on(const JobHeld& e);
  void on(const JobReleased& e);
  void on(const JobReady& e);
  void on(const JobRequeued& e);
  void on(const JobExited& e);
  void start(JobSlot s, Replica& replica);
  void stop(JobSlot s, Replica& replica);
  void stop_again(JobId id, RunId run);
  void main_gone(JobSlot s, bool success, bool node_fault);
  void end_or_restart(JobSlot s, bool success, bool node_fault = false);
  void finish(JobSlot s, JobNews news);
  void requeue(JobSlot s);
  void create_failed_for(JobSlot s, GpuId gpu, std::uint8_t start);
  void release(const Replica& replica);  // its process is gone: the instance is idle
  void update_flags(JobSlot s);          // movable and leaving, on its entries

  // scheduler_queue.cpp
  void enqueue(JobSlot s);
  void dequeue(JobSlot s);
  void try_queue();
  void try_first();
  void try_pools();
  void find_pool_heads();
  void count_waiting(const Job& job, int change);
  void recount_waiting();
  void forget_pools();
  [[nodiscard]] ModelSet wanted_models() const;
  void place(JobSlot s, const Slot& slot);
  void hold(JobSlot s, HoldCause cause);
  void unhold(JobSlot s, HoldCause cause);
  void review_servable();
  [[nodiscard]] Waiting waiting_view(const Job& job) const;
  [[nodiscard]] bool backfills() const { return policies_.queue->passing == Passing::kBackfill; }

  // scheduler_backfill.cpp
  struct BackfillWalk {
    struct Failed {
      ProfileName profile;
      ModelSet models;
      Instant ends{};
    };
    ModelSet headed;                                      // models that have a head
    ModelSet closed;                                      // models that no job passes on any more
    std::vector<std::pair<JobSlot, ModelSet>> unlimited;  // heads without reservation
    std::vector<Failed> failed;
    bool has_released = false;  // a reserved place is free for others

    [[nodiscard]] bool has_failed(const Request& request) const;
    void note_failed(const Request& request);
  };
  void try_backfill();
  void try_to_pass(JobSlot s, BackfillWalk& walk);
  void count_pass(ModelId model, BackfillWalk& walk);
  void sort_queue();
  void check_reservations();
  bool reserve_place(JobSlot s, const ModelSet& models);
  void set_reservation(JobSlot s, const std::optional<Reservation>& reservation);
  void begin_usage(JobSlot s);
  void end_usage(JobSlot s);
  void begin_backfill();
  void end_backfill();
  [[nodiscard]] ModelSet closed_before(JobSlot last) const;
  [[nodiscard]] std::int64_t level_of(const Job& job, Instant when) const;

  // scheduler_instances.cpp
  void on(const InstanceCreated& e);
  void on(const InstanceDestroyed& e);
  void on(const ActionFailed& e);
  InstanceId reserve(JobSlot s, GpuId gpu, std::uint8_t start);
  void clear_way(Node::Edit& edit, const Entry& promised);
  void make_way(Node::Edit& edit);
  void abandon(const Replica& replica);  // its instance was not there yet
  void create_failed(const ActionFailed& e);
  void start_failed(const ActionFailed& e);
  void instance_ready(JobSlot s, InstanceId instance);

  // scheduler_obstacles.cpp
  struct Quarantine {
    GpuId gpu;
    InstanceId instance;
    int failures = 0;
    bool attempting = false;  // its destruction is being tried
  };
  void on(const ForeignSeen& e);
  void on(const ForeignGone& e);
  void on(const InstanceQuarantined& e);
  void on(const QuarantineEnded& e);
  void evict(GpuId gpu, std::optional<mig::Placement> by);
  void quarantine(GpuId gpu, InstanceId instance);
  void retry_destroy(const Timer& timer);
  Quarantine* find_quarantine(GpuId gpu, InstanceId instance);
  void forget_quarantine(GpuId gpu, InstanceId instance);

  // scheduler_moves.cpp
  void on(const TrafficSwitched& e);
  void on(const TrafficDrained& e);
  void on(const MoveRequested& e);
  void plan();
  void plan_drains();
  bool drain_one(GpuId gpu);
  [[nodiscard]] bool moves_may_begin();
  void begin_move(const Move& move);
  void replica_ready(JobSlot s);
  void switch_failed(JobSlot s, RunId run);
  void replica_gone(JobSlot s, bool success = false);
  void end_with_replica(JobSlot s, bool success);
  void roll_back(JobSlot s);
  void take_over(JobSlot s, MoveNews news);
  void close_move(JobSlot s, MoveNews news);
  void back_off(Job& job, GpuId gpu, std::uint8_t start);
  void begin_cooldown(JobSlot s);
  void plan_later(GpuId gpu, Instant retry);
  void replan_restrained();

  // scheduler_gpus.cpp
  void on(const GpuAdded& e);
  void on(const GpuHealth& e);
  void on(const GpuCordoned& e);
  void on(const GpuUncordoned& e);
  void on(const GpuDrained& e);
  void on(const TuningChanged& e);
  void on(const WakeUp& e);
  void repair_layout(GpuId gpu);
  void lose(GpuId gpu);
  void lose_instance(GpuId gpu, InstanceId instance);
  void lose_replica_of(JobSlot s, GpuId gpu);

  // saved.cpp, restore.cpp
  [[nodiscard]] SavedRest saved_rest() const;
  void restore_gpus(const Saved& saved);
  Result<void> restore_jobs(const Saved& saved);
  Result<void> restore_entries(const Saved& saved);
  Result<void> restore_rest(const SavedRest& rest);
  Result<void> restore_queue(const SavedRest& rest);

  // scheduler.cpp
  void run_timers();
  void settle();
  void request_wake_up();
  // Read-only access: node_.job() of a non-const scheduler marks the job as changed.
  [[nodiscard]] const Job& look(JobSlot s) const { return node_.job(s); }
  [[nodiscard]] bool known(GpuId gpu) const { return gpu.value() < node_.gpu_count(); }
  void report(const Job& job, JobNews news) { out_->emplace_back(JobReport{job.id, news}); }

  Node node_;
  Policies policies_;
  Actions* out_ = nullptr;  // during a step
  Timers timers_;
  std::optional<Instant> woken_at_;  // the outstanding WakeAt
  std::uint32_t next_instance_ = 1;
  std::uint32_t next_run_ = 1;
  JobSlot queue_tail_ = kNoJob;
  std::size_t queue_length_ = 0;
  bool try_queue_ = false;
  static constexpr std::uint64_t kNoHead = ~std::uint64_t{0};
  std::uint64_t head_order_ = kNoHead;  // of the job that protect_head protected last
  // Of a queue with pools: by model, how many jobs wait for it; the heads' models and orders.
  std::vector<std::uint32_t> waiting_for_;
  std::vector<std::pair<std::size_t, std::uint64_t>> pool_head_orders_;
  bool pools_changed_ = false;
  // Of a queue with backfill: when its order was found.
  Instant ordered_at_{};
  Usage usage_;
  GpuSet to_plan_;     // GPUs that await planning
  GpuSet restrained_;  // those whose moves are restrained; planned again by timer or change
  GpuSet draining_;
  std::vector<Quarantine> quarantines_;
};

}  // namespace tangram::core
