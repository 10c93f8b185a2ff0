// Engine: the one place where the world's news become decisions. Inputs wait until the loop has
// nothing else at hand; then they are stepped one after the other, and the events, the state they
// produced and the records are committed in one transaction. Only then are the scheduler's actions
// performed and callers answered. One rule: what is not committed has not happened: if the store
// cannot be written, everything is taken back from the store, wishes of callers are refused, and
// facts of the world wait and are tried again.
#pragma once

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
  std::function<void(Result<void>)> done = {};  // after the commit, or why there was none
  bool wish = false;    // of a caller, who can be refused; everything else is a fact
  std::string by = {};  // who asked for it, for the events of what operators do; empty: nobody
};

class Engine {
 public:
  // `changed` is told the jobs whose records changed, after the commit.
  using OnChanged = std::function<void(const std::vector<std::uint64_t>&)>;
  // And of what happened, once it is durable.
  using OnHappened = std::function<void(const std::vector<store::EventRow>&)>;

  Engine(boost::asio::io_context& loop, store::Store& store);
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
  // Nothing waits to be stepped.
  [[nodiscard]] bool settled() const { return inputs_.empty(); }

 private:
  struct Batch {
    std::deque<Input> inputs;
    store::Changes changes;
    core::Actions actions;
    std::map<std::uint64_t, core::JobNews> ends;
    std::vector<Happened> happened;
    std::vector<store::MoveRow> moves_over;
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
  void finish(Batch& batch, const std::vector<std::uint64_t>& changed);
  void take_back(Batch& batch, const Error& error);
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
  bool flush_due_ = false;
  std::string store_trouble_;  // empty: the store can be written
  struct Timing;
  std::unique_ptr<Timing> timing_;
};

}  // namespace tangram::daemon
