// See engine.hpp: batches, commits, and what follows them.
#include "daemon/engine.hpp"

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
#include "daemon/die_at.hpp"
#include "policies/registry.hpp"
#include "store/decisions.hpp"

namespace tangram::daemon {
namespace {

constexpr std::size_t kMostInputs = 512;  // of one batch: a caller should not wait for ever
constexpr std::chrono::milliseconds kRetryStore{1'000};
constexpr std::chrono::seconds kSlowDisk{10};  // then callers need not wait any longer to be told
constexpr std::size_t kMostOverJobs = 256;

template <class E, class... Of>
constexpr bool is_any_of = (std::is_same_v<E, Of> || ...);

}  // namespace

struct Engine::Timing {
  explicit Timing(boost::asio::io_context& l) : loop(l), wake(l), patience(l) {}
  boost::asio::io_context& loop;
  boost::asio::steady_timer wake;      // the scheduler's
  boost::asio::steady_timer patience;  // with the store and the disk
};

Engine::Engine(boost::asio::io_context& loop, store::Store& store, Disk::Work disk)
    : store_(store),
      timing_(std::make_unique<Timing>(loop)),
      disk_(std::make_unique<Disk>(loop, std::move(disk))) {}

Engine::~Engine() = default;

Result<void> Engine::load(const core::Tuning& tuning) {
  auto contents = store_.load(kMostOverJobs);
  if (!contents) return std::unexpected(contents.error());
  const core::Tuning& named = contents->fresh ? tuning : contents->scheduler.rest.tuning;
  const auto policies = policies::find_policies(named);
  if (!policies) return std::unexpected(policies.error());
  if (contents->fresh) {
    scheduler_.emplace(tuning, *policies);
  } else {
    auto restored = core::Scheduler::restore(contents->scheduler, *policies);
    if (!restored) return std::unexpected(restored.error());
    scheduler_.emplace(*std::move(restored));
  }
  scheduler_->track_changes();
  fresh_ = contents->fresh;
  first_tuning_ = scheduler_->node().tuning();
  facts_ = contents->facts;
  records_ = Records(*contents);
  if (!clock_) clock_.emplace(scheduler_->node().now());
  return {};
}

void Engine::use(Hands hands, OnChanged changed) {
  hands_ = std::move(hands);
  changed_ = std::move(changed);
}

void Engine::post(Input input) {
  if (input.wish && !store_trouble_.empty()) {
    if (input.done) {
      input.done(std::unexpected(Error{ErrorCode::kUnavailable, store_trouble_}));
    }
    return;
  }
  inputs_.push_back(std::move(input));
  if (store_trouble_.empty() && disk_ && disk_->is_free()) schedule_flush();
}

// Behind whatever else the loop has at hand, so that a batch is as large as it can be.
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
  if (inputs_.empty() || !disk_ || !disk_->is_free()) return;
  auto next = std::make_unique<Batch>();
  Batch& batch = *next;
  while (!inputs_.empty() && batch.inputs.size() < kMostInputs) {
    batch.inputs.push_back(std::move(inputs_.front()));
    inputs_.pop_front();
    step(batch, batch.inputs.back());
  }
  if (std::exchange(fresh_, false)) batch.changes.first_tuning = first_tuning_;
  batch.changes.scheduler = scheduler_->take_changes();
  record_jobs(batch, batch.changes.scheduler);
  record_instances(batch.changes.scheduler);
  batch.changed = records_.take_changes(batch.changes);
  number(batch);
  batch.begun = std::chrono::steady_clock::now();
  if (const auto committed = store_.commit(batch.changes); !committed) {
    measure_commit(batch, false);
    take_back(batch, committed.error());
    return;
  }
  end_trouble();  // the disk may have its own
  for (const auto& [name, value] : batch.changes.facts) facts_.insert_or_assign(name, value);
  batch_ = std::move(next);
  sync();
}

void Engine::measure_commit(const Batch& batch, bool good) const {
  if (measures_.stored) measures_.stored(std::chrono::steady_clock::now() - batch.begun, good);
}

void Engine::sync() {
  if (!disk_) return;
  disk_->sync([this](const Result<void>& done) { synced(done); },
              [this](const Result<void>& tidied) { disk_is_free(tidied); });
  after(kSlowDisk, [this, begun = batch_->begun] {
    if (!batch_ || batch_->begun != begun) return;  // it came just in time
    refuse_waiting({ErrorCode::kUnavailable,
                    cat("the disk has not taken in the store ", store_.path(), " for ",
                        kSlowDisk.count(), " s. It goes on by itself once the disk does; look at ",
                        "the kernel's log and at who else uses the disk.")});
  });
}

// What could not be put on the disk is in the store all the same, and nobody can say whether it
// would be there after a crash: so its callers wait, and the disk is asked again.
void Engine::synced(const Result<void>& done) {
  timing_->patience.cancel();
  measure_commit(*batch_, done.has_value());
  if (!done) {
    refuse_waiting(done.error());
    return;  // and asks again when the disk is free
  }
  end_trouble();
  const std::unique_ptr<Batch> batch = std::move(batch_);
  finish(*batch);
  ring();
}

void Engine::disk_is_free(const Result<void>& tidied) {
  if (batch_) {
    after(kRetryStore, [this] { sync(); });
    return;
  }
  const std::string trouble = tidied ? "" : tidied.error().message;
  if (std::exchange(log_trouble_, trouble) != trouble) {
    spdlog::warn("{}", trouble.empty() ? "the log is brought into the store again" : trouble);
  }
  for (const auto& each : std::exchange(between_, {})) each();
  if (!inputs_.empty()) schedule_flush();
}

void Engine::between_batches(std::function<void()> what) {
  if (disk_ && disk_->is_free()) return what();
  between_.push_back(std::move(what));
}

void Engine::step(Batch& batch, Input& input) {
  if (input.note) input.note(records_);
  Happenings happenings(scheduler_->node(), records_, batch.happened,
                        store_.last_step() + batch.changes.steps.size() + 1);
  happenings.before(input.event, input.by);
  record_step_of_move(input.event);
  const Instant now = std::max(clock_->now(), scheduler_->node().now());
  const std::size_t before = batch.actions.size();
  core::Actions actions;
  const auto begun = std::chrono::steady_clock::now();
  scheduler_->step(now, input.event, actions);
  if (measures_.stepped) {
    measures_.stepped(input.event, std::chrono::steady_clock::now() - begun);
  }
  happenings.after(actions);
  for (core::Action& action : actions) {
    record(batch, action);
    batch.actions.push_back(std::move(action));
  }
  const std::span<const core::Action> mine = std::span(batch.actions).subspan(before);
  store::Step line{.sequence = 0,
                   .at = now,
                   .wall = Clock::wall(),
                   .event = input.event,
                   .decisions = store::decisions_text(scheduler_->node(), mine)};
  spdlog::debug("{}", core::to_text(scheduler_->node(), input.event));
  batch.changes.steps.push_back(std::move(line));
  die_if_stepped(input.event);
}

// The numbers of a batch that cannot be committed are the next one's.
void Engine::number(Batch& batch) const {
  std::uint64_t id = store_.last_event();
  for (Happened& each : batch.happened) {
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
  for (const Input& input : batch.inputs) die_if_committed(input.event);
  for (const core::Action& action : batch.actions) {
    perform(action);
    die_if_performed(action);
  }
  for (const store::MoveRow& move : batch.moves_over) {
    if (measures_.moved) measures_.moved(move);
  }
  if (happened_ && !batch.changes.events.empty()) happened_(batch.changes.events);
  for (Input& input : batch.inputs) {
    if (input.done) input.done({});
  }
  if (changed_ && !batch.changed.empty()) changed_(batch.changed);
  records_.forget_over();
}

// Nothing of the batch has happened. The scheduler and the records are read back; facts wait.
void Engine::take_back(Batch& batch, const Error& error) {
  const std::uint64_t last_job = records_.last_job();
  const auto reloaded = load(core::Tuning(first_tuning_));  // a copy: load() replaces it
  if (!reloaded) {
    // Without a store that can even be read there is nothing left to stand on.
    spdlog::critical("cannot read the store back: {}", reloaded.error().message);
    CHECK(false && "the store cannot be read any more");
  }
  records_.skip_jobs(last_job);
  for (Input& input : inputs_) batch.inputs.push_back(std::move(input));
  inputs_ = std::move(batch.inputs);
  refuse_waiting(error);
  after(kRetryStore, [this] {
    // A probe of the store even when no fact waits, so that callers are served again.
    if (inputs_.empty()) inputs_.push_back(Input{.event = core::WakeUp{}});
    flush();
  });
}

// Whoever asks for something is told why not; facts of the world wait.
void Engine::refuse_waiting(const Error& error) {
  if (store_trouble_ != error.message) spdlog::error("{}", error.message);
  store_trouble_ = error.message;
  std::deque<Input> waiting = std::exchange(inputs_, {});
  for (Input& input : waiting) {
    if (!input.wish) {
      inputs_.push_back(std::move(input));
    } else if (input.done) {
      input.done(std::unexpected(Error{ErrorCode::kUnavailable, error.message}));
    }
  }
  ring();
}

void Engine::end_trouble() {
  if (!std::exchange(store_trouble_, {}).empty()) spdlog::info("the store can be written again");
}

void Engine::after(std::chrono::milliseconds time, std::function<void()> what) {
  timing_->patience.expires_after(time);
  timing_->patience.async_wait([what = std::move(what)](const boost::system::error_code& stopped) {
    if (!stopped) what();
  });
}

bool Engine::has_heard_driver() const {
  const auto is_report = [](const Input& input) {
    return std::visit(
        []<class E>(const E&) {
          return is_any_of<E, core::InstanceCreated, core::InstanceDestroyed, core::ActionFailed,
                           core::GpuAdded, core::GpuHealth, core::ForeignSeen, core::ForeignGone,
                           core::InstanceQuarantined, core::QuarantineEnded>;
        },
        input.event);
  };
  return std::ranges::none_of(inputs_, is_report) &&
         (!batch_ || std::ranges::none_of(batch_->inputs, is_report));
}

bool Engine::is_lasting(std::optional<std::uint64_t> job) const {
  if (!batch_ || !store_trouble_.empty()) return true;
  if (!job) return false;
  const store::Changes& changes = batch_->changes;
  const auto touch = [&](const auto& rows) {
    return std::ranges::any_of(rows, [&](const auto& row) { return row.job == *job; });
  };
  const bool changed = std::ranges::find(batch_->changed, *job) != batch_->changed.end();
  return !changed && !touch(changes.runs) && !touch(changes.moves) && !touch(changes.leases);
}

std::shared_ptr<void> Engine::when_lasting(std::function<void()> ring) {
  auto waits = std::make_shared<std::function<void()>>(std::move(ring));
  waiting_.push_back(waits);
  return waits;
}

// Whoever still waits is rung again; he may leave, or bring others.
void Engine::ring() {
  std::erase_if(waiting_, [](const auto& each) { return each.expired(); });
  for (const auto& each : std::vector(waiting_)) {
    if (const auto waits = each.lock()) (*waits)();
  }
}

bool Engine::disk_rests() const { return disk_->is_free(); }

void Engine::close() {
  timing_->wake.cancel();
  timing_->patience.cancel();
  disk_.reset();
}

void Engine::perform(const core::Action& action) {
  if (measures_.performed) measures_.performed(action);
  if (const auto* wake = std::get_if<core::WakeAt>(&action)) {
    arm(wake->when);
  } else if (const auto* create = std::get_if<core::CreateInstance>(&action)) {
    if (hands_.create) hands_.create(*create);
  } else if (const auto* destroy = std::get_if<core::DestroyInstance>(&action)) {
    if (hands_.destroy) hands_.destroy(*destroy);
  } else if (const auto* start = std::get_if<core::StartJob>(&action)) {
    if (hands_.start) hands_.start(*start);
  } else if (const auto* stop = std::get_if<core::StopJob>(&action)) {
    if (hands_.stop) hands_.stop(*stop);
  } else if (const auto* change = std::get_if<core::SwitchTraffic>(&action)) {
    if (hands_.switch_traffic) hands_.switch_traffic(*change);
  } else if (const auto* report = std::get_if<core::MoveReport>(&action)) {
    if (hands_.move_over && report->news != core::MoveNews::kBegun) hands_.move_over(*report);
  }
  spdlog::info("{}", core::to_text(scheduler_->node(), action));
}

void Engine::arm(Instant when) {
  const auto wait = std::max(Duration::zero(), when - clock_->now());
  timing_->wake.expires_after(wait);
  timing_->wake.async_wait([this](const boost::system::error_code& stopped) {
    if (!stopped) post(core::WakeUp{});
  });
}

void Engine::wake_again() {
  if (const auto when = scheduler_->woken_at()) arm(*when);
}

}  // namespace tangram::daemon
