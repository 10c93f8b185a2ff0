// See engine.hpp: batches, commits, and what follows them.
#include "daemon/engine.hpp"

#include <algorithm>
#include <chrono>
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
constexpr std::size_t kMostOverJobs = 256;

}  // namespace

struct Engine::Timing {
  explicit Timing(boost::asio::io_context& l) : loop(l), wake(l), retry(l) {}
  boost::asio::io_context& loop;
  boost::asio::steady_timer wake;   // the scheduler's
  boost::asio::steady_timer retry;  // of a store that could not be written
};

Engine::Engine(boost::asio::io_context& loop, store::Store& store)
    : store_(store), timing_(std::make_unique<Timing>(loop)) {}

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
  if (store_trouble_.empty()) schedule_flush();
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
  if (inputs_.empty()) return;
  Batch batch;
  while (!inputs_.empty() && batch.inputs.size() < kMostInputs) {
    batch.inputs.push_back(std::move(inputs_.front()));
    inputs_.pop_front();
    step(batch, batch.inputs.back());
  }
  if (std::exchange(fresh_, false)) batch.changes.first_tuning = first_tuning_;
  batch.changes.scheduler = scheduler_->take_changes();
  record_jobs(batch, batch.changes.scheduler);
  record_instances(batch.changes.scheduler);
  const std::vector<std::uint64_t> changed = records_.take_changes(batch.changes);
  number(batch);
  const auto begun = std::chrono::steady_clock::now();
  const auto committed = store_.commit(batch.changes);
  if (measures_.stored) {
    measures_.stored(std::chrono::steady_clock::now() - begun, committed.has_value());
  }
  if (!committed) {
    take_back(batch, committed.error());
    return;
  }
  if (!std::exchange(store_trouble_, {}).empty()) spdlog::info("the store can be written again");
  finish(batch, changed);
  if (!inputs_.empty()) schedule_flush();
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

void Engine::finish(Batch& batch, const std::vector<std::uint64_t>& changed) {
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
  if (changed_ && !changed.empty()) changed_(changed);
  records_.forget_over();
}

// Nothing of the batch has happened. The scheduler and the records are read back; facts wait.
void Engine::take_back(Batch& batch, const Error& error) {
  if (store_trouble_ != error.message) spdlog::error("{}", error.message);
  store_trouble_ = error.message;
  const std::uint64_t last_job = records_.last_job();
  const auto reloaded = load(core::Tuning(first_tuning_));  // a copy: load() replaces it
  if (!reloaded) {
    // Without a store that can even be read there is nothing left to stand on.
    spdlog::critical("cannot read the store back: {}", reloaded.error().message);
    CHECK(false && "the store cannot be read any more");
  }
  records_.skip_jobs(last_job);
  for (Input& input : inputs_) batch.inputs.push_back(std::move(input));
  inputs_.clear();
  for (Input& input : batch.inputs) {
    if (!input.wish) {
      inputs_.push_back(std::move(input));
    } else if (input.done) {
      input.done(std::unexpected(Error{ErrorCode::kUnavailable, error.message}));
    }
  }
  timing_->retry.expires_after(kRetryStore);
  timing_->retry.async_wait([this](const boost::system::error_code& stopped) {
    if (stopped) return;
    // A probe of the store even when no fact waits, so that callers are served again.
    if (inputs_.empty()) inputs_.push_back(Input{.event = core::WakeUp{}});
    flush();
  });
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
