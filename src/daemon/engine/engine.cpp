// See engine.hpp: batches, commits and their effects.
#include "daemon/engine/engine.hpp"

#include <algorithm>
#include <chrono>
#include <type_traits>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json/serialize.hpp>
#include <spdlog/spdlog.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "core/transcript.hpp"
#include "daemon/engine/crash_point.hpp"
#include "policies/registry.hpp"
#include "store/decisions.hpp"
#include "store/restore_scheduler.hpp"

namespace tangram::daemon {
namespace {

constexpr std::size_t kMaxBatchInputs = 512;  // bounds the time until callers are answered
constexpr std::chrono::milliseconds kStoreRetryInterval{1'000};
constexpr std::chrono::seconds kSlowSync{10};  // requests are refused from then on
constexpr std::size_t kMaxEndedJobsLoaded = 256;

template <class E, class... Of>
constexpr bool kIsAnyOf = (std::is_same_v<E, Of> || ...);

}  // namespace

struct Engine::Timing {
  explicit Timing(boost::asio::io_context& l) : loop(l), wake(l), store_timer(l) {}
  boost::asio::io_context& loop;
  boost::asio::steady_timer wake;         // when the scheduler wants to be stepped
  boost::asio::steady_timer store_timer;  // retry of a commit or fsync; slow fsync
};

Engine::Engine(boost::asio::io_context& loop, store::Store& store, FsyncThread::Work sync_work)
    : store_(store),
      timing_(std::make_unique<Timing>(loop)),
      fsync_thread_(std::make_unique<FsyncThread>(loop, std::move(sync_work))) {}

Engine::~Engine() = default;

Result<void> Engine::load(const core::Tuning& tuning) {
  auto contents = store_.load(kMaxEndedJobsLoaded);
  if (!contents) return std::unexpected(contents.error());
  if (contents->fresh) {
    const auto policies = policies::find_policies(tuning);
    if (!policies) return std::unexpected(policies.error());
    scheduler_.emplace(tuning, *policies);
  } else {
    auto restored = store::restore_scheduler(contents->scheduler);
    if (!restored) return std::unexpected(restored.error());
    scheduler_.emplace(*std::move(restored));
  }
  scheduler_->track_changes();
  is_new_store_ = contents->fresh;
  first_tuning_ = scheduler_->node().tuning();
  facts_ = contents->facts;
  records_ = JobTable(*contents);
  if (!clock_) clock_.emplace(scheduler_->node().now());
  return {};
}

void Engine::set_executors(ActionExecutors executors, OnChanged on_changed) {
  executors_ = std::move(executors);
  on_changed_ = std::move(on_changed);
}

void Engine::post(Input input) {
  if (input.may_be_refused && !store_error_.empty()) {
    if (input.done) {
      input.done(std::unexpected(Error{ErrorCode::kUnavailable, store_error_}));
    }
    return;
  }
  inputs_.push_back(std::move(input));
  if (store_error_.empty() && fsync_thread_ && fsync_thread_->is_idle()) schedule_flush();
}

// Posted twice: handlers that are ready now run first and may add inputs to the batch.
void Engine::schedule_flush() {
  if (std::exchange(flush_due_, true)) return;
  boost::asio::post(timing_->loop, [this] {
    boost::asio::post(timing_->loop, [this] {
      flush_due_ = false;
      flush();
    });
  });
}

void Engine::flush() {
  if (inputs_.empty() || !fsync_thread_ || !fsync_thread_->is_idle()) return;
  auto next = std::make_unique<Batch>();
  Batch& batch = *next;
  const auto may_take = [&] {
    return batch.inputs.size() < kMaxBatchInputs || inputs_.front().joined;
  };
  while (!inputs_.empty() && may_take()) {
    batch.inputs.push_back(std::move(inputs_.front()));
    inputs_.pop_front();
    step(batch, batch.inputs.back());
  }
  if (std::exchange(is_new_store_, false)) batch.changes.first_tuning = first_tuning_;
#ifndef NDEBUG
  CHECK(core::Scheduler::restore(scheduler_->save(), scheduler_->policies()).has_value());
#endif
  batch.changes.scheduler = scheduler_->take_changes();
  record_jobs(batch, batch.changes.scheduler);
  record_instances(batch.changes.scheduler);
  batch.changed_jobs = records_.take_changes(batch.changes);
  number_events(batch);
  batch.started = std::chrono::steady_clock::now();
  if (const auto committed = store_.commit(batch.changes); !committed) {
    report_commit(batch, false);
    roll_back(batch, committed.error());
    return;
  }
  clear_store_error();
  for (const auto& [name, value] : batch.changes.facts) facts_.insert_or_assign(name, value);
  batch_ = std::move(next);
  sync();
}

void Engine::report_commit(const Batch& batch, bool succeeded) const {
  if (hooks_.on_commit)
    hooks_.on_commit(std::chrono::steady_clock::now() - batch.started, succeeded);
}

void Engine::sync() {
  if (!fsync_thread_) return;
  fsync_thread_->sync(
      [this](const Result<void>& done) { on_synced(done); },
      [this](const Result<void>& checkpointed) { on_fsync_thread_idle(checkpointed); });
  run_after(kSlowSync, [this, started = batch_->started] {
    if (!batch_ || batch_->started != started) return;  // completed just now
    refuse_pending({ErrorCode::kUnavailable,
                    cat("fsync of ", store_.path(), " has not returned for ", kSlowSync.count(),
                        " s: tangramd resumes when it does; check the kernel log and other ",
                        "users of the disk.")});
  });
}

// After a failed fsync the batch is committed but may not survive a crash. Its callers keep
// waiting, and the fsync is retried.
void Engine::on_synced(const Result<void>& done) {
  timing_->store_timer.cancel();
  report_commit(*batch_, done.has_value());
  if (!done) {
    refuse_pending(done.error());
    return;  // on_fsync_thread_idle() retries
  }
  clear_store_error();
  const std::unique_ptr<Batch> batch = std::move(batch_);
  finish(*batch);
  notify_waiters();
}

void Engine::on_fsync_thread_idle(const Result<void>& checkpointed) {
  if (batch_) {
    run_after(kStoreRetryInterval, [this] { sync(); });
    return;
  }
  const std::string error = checkpointed ? "" : checkpointed.error().message;
  if (std::exchange(checkpoint_error_, error) != error) {
    spdlog::warn("{}", error.empty() ? "the write-ahead log is checkpointed again" : error);
  }
  for (const auto& each : std::exchange(between_batches_, {})) each();
  if (!inputs_.empty()) schedule_flush();
}

void Engine::between_batches(std::function<void()> work) {
  if (fsync_thread_ && fsync_thread_->is_idle()) {
    work();
    return;
  }
  between_batches_.push_back(std::move(work));
}

void Engine::step(Batch& batch, Input& input) {
  if (input.edit_rows) input.edit_rows(records_);
  EventWriter event_writer(scheduler_->node(), records_, batch.new_events,
                           store_.last_step() + batch.changes.steps.size() + 1);
  event_writer.add_event(input.event, input.requested_by, input.reason);
  record_move_progress(input.event);
  const Instant now = std::max(clock_->now(), scheduler_->node().now());
  const std::size_t before = batch.actions.size();
  core::Actions actions;
  const auto started = std::chrono::steady_clock::now();
  scheduler_->step(now, input.event, actions);
  if (hooks_.on_step) {
    hooks_.on_step(input.event, std::chrono::steady_clock::now() - started);
  }
  event_writer.add_actions(actions);
  for (const core::Action& action : actions) {
    record(batch, action);
    batch.actions.push_back(action);
  }
  const std::span<const core::Action> step_actions = std::span(batch.actions).subspan(before);
  store::Step row{.sequence = 0,
                  .at = now,
                  .wall = Clock::wall(),
                  .event = input.event,
                  .decisions = store::decisions_text(scheduler_->node(), step_actions)};
  spdlog::debug("{}", core::to_text(scheduler_->node(), input.event));
  batch.changes.steps.push_back(std::move(row));
  crash_after_step(input.event);
}

// Ids follow the last committed event, so a batch that is rolled back leaves no gap.
void Engine::number_events(Batch& batch) const {
  std::uint64_t id = store_.last_event();
  for (PendingEvent& each : batch.new_events) {
    each.view.id = ++id;
    batch.changes.events.push_back({.id = id,
                                    .step = each.step,
                                    .wall = each.view.time,
                                    .kind = each.view.kind,
                                    .job = each.view.job,
                                    .event = boost::json::serialize(api::to_json(each.view))});
  }
}

void Engine::finish(Batch& batch) {
  for (const Input& input : batch.inputs) crash_after_commit(input.event);
  for (const core::Action& action : batch.actions) {
    perform(action);
    crash_after_action(action);
  }
  for (const store::MoveRow& move : batch.ended_moves) {
    if (hooks_.on_move_ended) hooks_.on_move_ended(move);
  }
  if (on_events_ && !batch.changes.events.empty()) on_events_(batch.changes.events);
  for (Input& input : batch.inputs) {
    if (input.done) input.done({});
  }
  if (on_changed_ && !batch.changed_jobs.empty()) on_changed_(batch.changed_jobs);
  records_.drop_ended();
}

// Restores the scheduler and the rows from the store and queues the batch's facts again.
void Engine::roll_back(Batch& batch, const Error& error) {
  const std::uint64_t last_job = records_.last_job();
  const auto reloaded = load(core::Tuning(first_tuning_));  // a copy: load() replaces it
  if (!reloaded) {
    spdlog::critical("cannot reload the store after a failed commit: {}", reloaded.error().message);
    CHECK(false && "the store cannot be read");
  }
  records_.reserve_job_ids(last_job);
  for (Input& input : inputs_) batch.inputs.push_back(std::move(input));
  inputs_ = std::move(batch.inputs);
  refuse_pending(error);
  run_after(kStoreRetryInterval, [this] {
    // Probe the store even if no fact is waiting, so that requests are accepted again.
    if (inputs_.empty()) inputs_.push_back(Input{.event = core::WakeUp{}});
    flush();
  });
}

// Refuses the requests among the waiting inputs; facts stay queued.
void Engine::refuse_pending(const Error& error) {
  if (store_error_ != error.message) spdlog::error("{}", error.message);
  store_error_ = error.message;
  std::deque<Input> waiting = std::exchange(inputs_, {});
  for (Input& input : waiting) {
    if (!input.may_be_refused) {
      inputs_.push_back(std::move(input));
    } else if (input.done) {
      input.done(std::unexpected(Error{ErrorCode::kUnavailable, error.message}));
    }
  }
  notify_waiters();
}

void Engine::clear_store_error() {
  if (!std::exchange(store_error_, {}).empty()) spdlog::info("the store is writable again");
}

void Engine::run_after(std::chrono::milliseconds delay, std::function<void()> work) {
  timing_->store_timer.expires_after(delay);
  timing_->store_timer.async_wait(
      [work = std::move(work)](const boost::system::error_code& stopped) {
        if (!stopped) work();
      });
}

bool Engine::driver_reports_processed() const {
  const auto is_report = [](const Input& input) {
    return std::visit(
        []<class E>(const E&) {
          return kIsAnyOf<E, core::InstanceCreated, core::InstanceDestroyed, core::ActionFailed,
                          core::GpuAdded, core::GpuHealth, core::ForeignSeen, core::ForeignGone,
                          core::InstanceQuarantined, core::QuarantineEnded>;
        },
        input.event);
  };
  return std::ranges::none_of(inputs_, is_report) &&
         (!batch_ || std::ranges::none_of(batch_->inputs, is_report));
}

bool Engine::is_durable(std::optional<std::uint64_t> job) const {
  if (!batch_ || !store_error_.empty()) return true;
  if (!job) return false;
  const store::Changes& changes = batch_->changes;
  const auto touches = [&](const auto& rows) {
    return std::ranges::any_of(rows, [&](const auto& row) { return row.job == *job; });
  };
  const bool changed = std::ranges::find(batch_->changed_jobs, *job) != batch_->changed_jobs.end();
  return !changed && !touches(changes.runs) && !touches(changes.moves) && !touches(changes.leases);
}

std::shared_ptr<void> Engine::on_durable(std::function<void()> notify) {
  auto waiter = std::make_shared<std::function<void()>>(std::move(notify));
  durability_waiters_.push_back(waiter);
  return waiter;
}

// Iterates over a copy: a waiter may release its handle or add another.
void Engine::notify_waiters() {
  std::erase_if(durability_waiters_, [](const auto& each) { return each.expired(); });
  for (const auto& each : std::vector(durability_waiters_)) {
    if (const auto waiter = each.lock()) (*waiter)();
  }
}

bool Engine::is_sync_idle() const { return fsync_thread_->is_idle(); }

void Engine::close() {
  timing_->wake.cancel();
  timing_->store_timer.cancel();
  fsync_thread_.reset();
}

void Engine::perform(const core::Action& action) {
  if (hooks_.on_action) hooks_.on_action(action);
  if (const auto* wake = std::get_if<core::WakeAt>(&action)) {
    arm_wakeup(wake->when);
  } else if (const auto* create = std::get_if<core::CreateInstance>(&action)) {
    if (executors_.create) executors_.create(*create);
  } else if (const auto* destroy = std::get_if<core::DestroyInstance>(&action)) {
    if (executors_.destroy) executors_.destroy(*destroy);
  } else if (const auto* start = std::get_if<core::StartJob>(&action)) {
    if (executors_.start) executors_.start(*start);
  } else if (const auto* stop = std::get_if<core::StopJob>(&action)) {
    if (executors_.stop) executors_.stop(*stop);
  } else if (const auto* change = std::get_if<core::SwitchTraffic>(&action)) {
    if (executors_.switch_traffic) executors_.switch_traffic(*change);
  } else if (const auto* report = std::get_if<core::MoveReport>(&action)) {
    const bool ended = report->news != core::MoveNews::kBegun;
    if (executors_.end_move && ended) executors_.end_move(*report);
  }
  spdlog::info("{}", core::to_text(scheduler_->node(), action));
}

void Engine::arm_wakeup(Instant when) {
  const auto wait = std::max(Duration::zero(), when - clock_->now());
  timing_->wake.expires_after(wait);
  timing_->wake.async_wait([this](const boost::system::error_code& stopped) {
    if (!stopped) post(core::WakeUp{});
  });
}

void Engine::rearm_wakeup() {
  if (const auto when = scheduler_->woken_at()) arm_wakeup(*when);
}

}  // namespace tangram::daemon
