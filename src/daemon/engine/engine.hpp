// Engine: the event loop's decision core. Inputs queue up until the loop has no other work; then a
// batch of them is stepped through the scheduler one by one. Their events, the resulting scheduler
// state and the changed rows are committed in one transaction, which the FsyncThread fsyncs. After
// that the batch is durable: its actions are executed, its events are published and its callers
// are answered, and the next batch starts. Callers are served meanwhile, but scheduler() and
// records() are ahead of the disk: code that exposes them must check is_durable() first.
// If a commit fails, the batch is rolled back by reloading from the store: requests are refused and
// facts are retried. If the fsync fails, the batch stays pending and the fsync is retried.
// All members are called on the loop only.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "core/action.hpp"
#include "core/event.hpp"
#include "core/scheduler.hpp"
#include "daemon/engine/clock.hpp"
#include "daemon/engine/engine_hooks.hpp"
#include "daemon/engine/event_writer.hpp"
#include "daemon/engine/fsync_thread.hpp"
#include "daemon/engine/job_table.hpp"
#include "store/store.hpp"

namespace boost::asio {
class io_context;
}

namespace tangram::daemon {

// What executes the scheduler's actions. An executor reports its outcome by posting inputs, never
// within the call.
struct ActionExecutors {
  std::function<void(const core::CreateInstance&)> create;
  std::function<void(const core::DestroyInstance&)> destroy;
  std::function<void(const core::StartJob&)> start;
  std::function<void(const core::StopJob&)> stop;
  std::function<void(const core::SwitchTraffic&)> switch_traffic;
  std::function<void(const core::MoveReport&)> end_move;  // reports nothing back
};

struct Input {
  core::Event event;
  // Changes to the rows that are committed with the event; runs just before it is stepped.
  std::function<void(JobTable&)> edit_rows = {};
  // Called once: when the input is durable, or with the reason why it was refused. The latter may
  // happen within post().
  std::function<void(Result<void>)> done = {};
  // True for a caller's request, which is refused if the store fails. False for a fact, which is
  // retried until it is committed.
  bool may_be_refused = false;
  // In the same transaction as the input posted just before.
  bool joined = false;
  std::string requested_by = {};  // the user, for events about operators' actions; may be empty
  // For events about GPUs and the end of a job, which all users may read; may be empty.
  std::string reason = {};
};

class Engine {
 public:
  // Called with the jobs whose rows changed, and with new events, once those are durable.
  using OnChanged = std::function<void(const std::vector<std::uint64_t>&)>;
  using OnEvents = std::function<void(const std::vector<store::EventRow>&)>;

  // `sync_work` makes commits durable; see FsyncThread.
  Engine(boost::asio::io_context& loop, store::Store& store, FsyncThread::Work sync_work);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  Engine(Engine&&) = delete;
  Engine& operator=(Engine&&) = delete;

  // Loads the state from the store; a new store starts with `tuning`.
  [[nodiscard]] Result<void> load(const core::Tuning& tuning);
  // Until this is called, actions are not executed.
  void set_executors(ActionExecutors executors, OnChanged on_changed);
  void set_on_events(OnEvents on_events) { on_events_ = std::move(on_events); }
  void set_hooks(EngineHooks hooks) { hooks_ = std::move(hooks); }

  // Queues the input for the next batch and returns at once; its step runs later, on the loop.
  // While the store fails, facts wait and inputs that may be refused are refused within this call.
  void post(Input input);
  void post(core::Event event) { post(Input{.event = std::move(event)}); }
  // Re-arms the wake-up that the scheduler requested before a restart.
  void rearm_wakeup();

  [[nodiscard]] const core::Scheduler& scheduler() const { return *scheduler_; }
  // Changed only by Input::edit_rows, so that every change is in the transaction of its event.
  [[nodiscard]] const JobTable& records() const { return records_; }
  [[nodiscard]] std::uint64_t allocate_job_id() { return records_.allocate_job_id(); }
  [[nodiscard]] const Clock& clock() const { return *clock_; }
  [[nodiscard]] store::Store& store() { return store_; }
  [[nodiscard]] const std::map<std::string, std::string>& facts() const { return facts_; }
  // Why the store cannot be written or synced now; empty if it can.
  [[nodiscard]] const std::string& store_error() const { return store_error_; }
  // True if no input is waiting and no batch is in flight.
  [[nodiscard]] bool is_idle() const { return inputs_.empty() && !batch_; }
  // True if no report of the driver is among the inputs that are waiting or in flight.
  [[nodiscard]] bool driver_reports_processed() const;
  // Runs `work` when no commit or fsync is in flight: now, or before the next batch. For code that
  // writes to the store directly; what it writes becomes durable with the next batch.
  void between_batches(std::function<void()> work);
  // Whether the state of `job` (nullopt: all state) is durable. While the store fails, this is
  // true: durability cannot be awaited then, so callers see the known state.
  [[nodiscard]] bool is_durable(std::optional<std::uint64_t> job) const;
  // Calls `notify` whenever is_durable() may have changed, until the returned handle is released.
  [[nodiscard]] std::shared_ptr<void> on_durable(std::function<void()> notify);
  // Stops all work on the store; a batch that is in flight is completed at the next start.
  void close();
  // False while an fsync is in flight or hangs.
  [[nodiscard]] bool is_sync_idle() const;

 private:
  struct Batch {
    std::deque<Input> inputs;
    store::Changes changes;
    core::Actions actions;
    std::map<std::uint64_t, core::JobNews> ends;
    std::vector<PendingEvent> new_events;
    std::vector<store::MoveRow> ended_moves;
    std::vector<std::uint64_t> changed_jobs;
    std::chrono::steady_clock::time_point started{};
  };

  void schedule_flush();
  void flush();
  void step(Batch& batch, Input& input);
  void record(Batch& batch, const core::Action& action);
  void record(Batch& batch, const core::JobReport& report);
  void record(Batch& batch, const core::MoveReport& report);
  void record_move_progress(const core::Event& event);
  void record_rollback_reason(const core::Event& event);
  void clear_original_outcome(std::uint64_t id);
  void number_events(Batch& batch) const;
  void record_run(const core::StartJob& start);
  void record_jobs(const Batch& batch, const core::SavedChanges& changes);
  void record_job(const core::SavedJob& saved);
  void record_end(std::uint64_t id, core::JobNews news);
  void record_instances(const core::SavedChanges& changes);
  void sync();
  void on_synced(const Result<void>& done);
  void on_fsync_thread_idle(const Result<void>& checkpointed);
  void finish(Batch& batch);
  void roll_back(Batch& batch, const Error& error);
  void refuse_pending(const Error& error);
  void clear_store_error();
  void notify_waiters();
  void run_after(std::chrono::milliseconds delay, std::function<void()> work);
  void report_commit(const Batch& batch, bool succeeded) const;
  void perform(const core::Action& action);
  void arm_wakeup(Instant when);

  store::Store& store_;
  std::optional<core::Scheduler> scheduler_;
  std::optional<Clock> clock_;
  JobTable records_;
  std::map<std::string, std::string> facts_;
  bool is_new_store_ = false;  // nothing was ever committed
  core::Tuning first_tuning_;
  ActionExecutors executors_;
  OnChanged on_changed_;
  OnEvents on_events_;
  EngineHooks hooks_;
  std::deque<Input> inputs_;
  std::unique_ptr<Batch> batch_;  // committed, and its fsync is in flight
  bool flush_due_ = false;
  std::vector<std::weak_ptr<std::function<void()>>> durability_waiters_;
  std::vector<std::function<void()>> between_batches_;
  std::string store_error_;       // empty: none
  std::string checkpoint_error_;  // of the write-ahead log; empty: none
  struct Timing;
  std::unique_ptr<Timing> timing_;
  std::unique_ptr<FsyncThread> fsync_thread_;
};

}  // namespace tangram::daemon
