// Engine: the one place where the world's news become decisions. Inputs wait until the loop has
// nothing else at hand; then they are stepped one after the other, and the events, the state they
// produced and the records are committed in one transaction. While the Disk takes it in, the loop
// serves others, and further inputs gather. Then the scheduler's actions are performed, what
// happened is told and wishes are answered; then comes the next batch. Meanwhile the scheduler and
// the records are ahead of the disk: who would tell of them asks is_lasting() first. One rule: what
// is not on the disk has not happened: nothing follows from it, and nobody is told of it, as long
// as the disk does its work. If the store cannot be written, everything is taken back from the
// store, wishes are refused, and facts of the world wait and are tried again; if the disk fails to
// take in what was written, that waits until it does.
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
#include "daemon/clock.hpp"
#include "daemon/disk.hpp"
#include "daemon/happenings.hpp"
#include "daemon/measures.hpp"
#include "daemon/records.hpp"
#include "store/store.hpp"

namespace boost::asio {
class io_context;
}

namespace tangram::daemon {

// Who performs the actions. Each is answered by inputs, later, never within the call.
struct Hands {
  std::function<void(const core::CreateInstance&)> create;
  std::function<void(const core::DestroyInstance&)> destroy;
  std::function<void(const core::StartJob&)> start;
  std::function<void(const core::StopJob&)> stop;
  std::function<void(const core::SwitchTraffic&)> switch_traffic;
  std::function<void(const core::MoveReport&)> move_over;  // needs no answer
};

struct Input {
  core::Event event;
  std::function<void(Records&)> note = {};      // what to remember along with it; may be empty
  std::function<void(Result<void>)> done = {};  // once it is on the disk, or why it is not
  bool wish = false;    // of a caller, who can be refused; everything else is a fact
  std::string by = {};  // who asked for it, for the events of what operators do; empty: nobody
};

class Engine {
 public:
  // `changed` is told the jobs whose records changed, once that is durable.
  using OnChanged = std::function<void(const std::vector<std::uint64_t>&)>;
  // And of what happened, once it is durable.
  using OnHappened = std::function<void(const std::vector<store::EventRow>&)>;

  // `disk` puts on the disk what is in the store.
  Engine(boost::asio::io_context& loop, store::Store& store, Disk::Work disk);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  Engine(Engine&&) = delete;
  Engine& operator=(Engine&&) = delete;

  // From the store; a fresh one begins with `tuning`. Nothing is performed before hands are given.
  [[nodiscard]] Result<void> load(const core::Tuning& tuning);
  void use(Hands hands, OnChanged changed);
  void tell(OnHappened happened) { happened_ = std::move(happened); }
  void measure(Measures measures) { measures_ = std::move(measures); }

  void post(Input input);
  void post(core::Event event) { post(Input{.event = std::move(event)}); }
  // The wake-up that the scheduler asked for before a restart.
  void wake_again();

  [[nodiscard]] const core::Scheduler& scheduler() const { return *scheduler_; }
  // Changed by notes only: what is changed otherwise may miss its transaction.
  [[nodiscard]] const Records& records() const { return records_; }
  [[nodiscard]] std::uint64_t next_job() { return records_.next_job(); }
  [[nodiscard]] const Clock& clock() const { return *clock_; }
  [[nodiscard]] store::Store& store() { return store_; }
  [[nodiscard]] const std::map<std::string, std::string>& facts() const { return facts_; }
  [[nodiscard]] const std::string& store_trouble() const { return store_trouble_; }
  // Nothing waits to be stepped or to be on the disk.
  [[nodiscard]] bool settled() const { return inputs_.empty() && !batch_; }
  // No report of the driver does; much else may.
  [[nodiscard]] bool has_heard_driver() const;
  // Does it between two batches: now, or when the disk is free for the next one. For who writes to
  // the store himself: it is on the disk with the next batch.
  void between_batches(std::function<void()> what);
  // Whether all that is known of a job (none: of anything) is on the disk. As long as the store is
  // in trouble nobody can say when, and what is known has to do.
  [[nodiscard]] bool is_lasting(std::optional<std::uint64_t> job) const;
  // Rings when that may have changed, until what it gives is dropped.
  [[nodiscard]] std::shared_ptr<void> when_lasting(std::function<void()> ring);
  // Leaves the store and the disk alone; what is under way goes on after the next start.
  void close();
  // Whether nothing of ours is on its way to the disk, or hangs there.
  [[nodiscard]] bool disk_rests() const;

 private:
  struct Batch {
    std::deque<Input> inputs;
    store::Changes changes;
    core::Actions actions;
    std::map<std::uint64_t, core::JobNews> ends;
    std::vector<Happened> happened;
    std::vector<store::MoveRow> moves_over;
    std::vector<std::uint64_t> changed;  // jobs
    std::chrono::steady_clock::time_point begun{};
  };

  void schedule_flush();
  void flush();
  void step(Batch& batch, Input& input);
  void record(Batch& batch, const core::Action& action);
  void record(Batch& batch, const core::JobReport& report);
  void record(Batch& batch, const core::MoveReport& report);
  void record_step_of_move(const core::Event& event);
  void record_reason_of_move(const core::Event& event);
  void forget_original(std::uint64_t id);
  void number(Batch& batch) const;
  void record_run(const core::StartJob& start);
  void record_jobs(const Batch& batch, const core::SavedChanges& changes);
  void record_job(const core::SavedJob& saved);
  void record_end(std::uint64_t id, core::JobNews news);
  void record_instances(const core::SavedChanges& changes);
  void sync();
  void synced(const Result<void>& done);
  void disk_is_free(const Result<void>& tidied);
  void finish(Batch& batch);
  void take_back(Batch& batch, const Error& error);
  void refuse_waiting(const Error& error);
  void end_trouble();
  void ring();
  void after(std::chrono::milliseconds time, std::function<void()> what);
  void measure_commit(const Batch& batch, bool good) const;
  void perform(const core::Action& action);
  void arm(Instant when);

  store::Store& store_;
  std::optional<core::Scheduler> scheduler_;
  std::optional<Clock> clock_;
  Records records_;
  std::map<std::string, std::string> facts_;
  bool fresh_ = false;  // no batch was ever committed
  core::Tuning first_tuning_;
  Hands hands_;
  OnChanged changed_;
  OnHappened happened_;
  Measures measures_;
  std::deque<Input> inputs_;
  std::unique_ptr<Batch> batch_;  // that is on its way to the disk
  bool flush_due_ = false;
  std::vector<std::weak_ptr<std::function<void()>>> waiting_;  // when_lasting()
  std::vector<std::function<void()>> between_;
  std::string store_trouble_;  // empty: the store can be written
  std::string log_trouble_;    // the Syncer's
  struct Timing;
  std::unique_ptr<Timing> timing_;
  std::unique_ptr<Disk> disk_;
};

}  // namespace tangram::daemon
