// See metrics.hpp: counters and histograms; gauges are in node_metrics.cpp.
#include "daemon/service/metrics.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include "core/transcript.hpp"
#include "daemon/engine/engine.hpp"
#include "daemon/service/node_metrics.hpp"

namespace tangram::daemon {
namespace {

using prometheus::Histogram;
using Buckets = Histogram::BucketBoundaries;
using Steady = std::chrono::steady_clock;

constexpr std::chrono::seconds kLoopLagInterval{1};

// Bucket boundaries in seconds.
const Buckets kShort{1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1};
const Buckets kMedium{1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1, 3, 10};
const Buckets kDriver{0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 60};
const Buckets kJobs{0.1, 1, 10, 60, 600, 3600, 21600, 86400, 604800, 2592000};

double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

double seconds_between(const store::WallTime& from, const store::WallTime& to) {
  return std::max(0.0, std::chrono::duration<double>(to - from).count());
}

std::string_view result_of(core::JobNews news) {
  switch (news) {
    case core::JobNews::kFinished:
      return "completed";
    case core::JobNews::kFailed:
    case core::JobNews::kCreateFailed:
      return "failed";
    case core::JobNews::kCancelled:
      return "cancelled";
    case core::JobNews::kRefusedProfile:
    case core::JobNews::kRefusedDuplicate:
      return "refused";
    default:
      return "";
  }
}

// A lease was released by its holder, or ended otherwise (not renewed, no capacity, GPU lost).
std::string_view lease_result_of(core::JobNews news, const store::JobRow* row) {
  const std::string_view result = result_of(news);
  if (row != nullptr && row->state == api::name_of(api::JobState::kCompleted)) return "released";
  return result == "cancelled" || result == "completed" ? "ended" : result;
}

std::string_view result_of(core::MoveNews news) {
  switch (news) {
    case core::MoveNews::kBegun:
      return "begun";
    case core::MoveNews::kDone:
      return "done";
    case core::MoveNews::kRolledBack:
      return "rolled_back";
    case core::MoveNews::kTakenOver:
      return "taken_over";
  }
  return "";
}

}  // namespace

struct Metrics::Parts {
  Parts(boost::asio::io_context& loop, const Engine& the_engine, const Hardware& hardware,
        const Endpoints& endpoints, const Views& views, const Access& the_access)
      : engine(the_engine),
        access(the_access),
        node(the_engine, hardware, endpoints, views),
        timer(loop) {
    // Created with 0: rate() misses the first increment of a series that appears with it.
    for (const char* result : {"completed", "failed", "cancelled", "refused"}) {
      finished.Add({{"result", result}});
    }
    for (const char* result : {"released", "ended", "failed", "refused"}) {
      leases_finished.Add({{"result", result}});
    }
    for (const auto kind : {core::MoveKind::kIntra, core::MoveKind::kInter, core::MoveKind::kDrain,
                            core::MoveKind::kRequested}) {
      for (const auto news : {core::MoveNews::kBegun, core::MoveNews::kDone,
                              core::MoveNews::kRolledBack, core::MoveNews::kTakenOver}) {
        moves.Add(labels_of(kind, news));
      }
    }
    for (const auto kind : {core::ActionKind::kCreateInstance, core::ActionKind::kDestroyInstance,
                            core::ActionKind::kStartJob, core::ActionKind::kSwitchTraffic,
                            core::ActionKind::kStopJob}) {
      failures.Add({{"action", std::string(core::name_of(kind))}});
    }
    for (const char* hook : {"command", "url"}) {
      for (const char* result : {"ok", "failed", "timeout", "dropped"}) {
        hooks.Add({{"hook", hook}, {"result", result}});
      }
    }
    measure_loop_lag();
  }

  static prometheus::Labels labels_of(core::MoveKind kind, core::MoveNews news) {
    return {{"kind", std::string(core::name_of(kind))}, {"result", std::string(result_of(news))}};
  }

  prometheus::Gauge& gauge(const char* name, const char* help) {
    return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({});
  }
  Histogram& histogram(const char* name, const char* help, const Buckets& buckets) {
    return prometheus::BuildHistogram().Name(name).Help(help).Register(registry).Add({}, buckets);
  }
  prometheus::Family<prometheus::Counter>& counters(const char* name, const char* help) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
  }

  // How late the loop runs a timer is how long it delays callers.
  void measure_loop_lag() {
    const auto due = Steady::now() + kLoopLagInterval;
    timer.expires_at(due);
    timer.async_wait([this, due](const boost::system::error_code& stopped) {
      if (stopped) return;
      loop_lag.Observe(seconds(Steady::now() - due));
      measure_loop_lag();
    });
  }

  void on_action(const core::Action& action) {
    if (const auto* create = std::get_if<core::CreateInstance>(&action)) {
      changes[create->instance.value()] = Steady::now();
    } else if (const auto* destroy = std::get_if<core::DestroyInstance>(&action)) {
      changes[destroy->instance.value()] = Steady::now();
    } else if (const auto* move = std::get_if<core::MoveReport>(&action)) {
      moves.Add(labels_of(move->kind, move->news)).Increment();
    } else if (const auto* start = std::get_if<core::StartJob>(&action)) {
      on_started(*start);
    } else if (const auto* stop = std::get_if<core::StopJob>(&action)) {
      stops.try_emplace(stop->job.value(), Steady::now());
    } else if (const auto* report = std::get_if<core::JobReport>(&action)) {
      on_job_report(*report);
    }
  }

  void on_started(const core::StartJob& start) {
    stops.erase(start.job.value());
    const store::JobRow* row = engine.records().job(start.job.value());
    if (row == nullptr || row->restarts > 0 || start.replica) return;
    const bool lease = row->kind == "lease";
    (lease ? lease_wait : wait).Observe(seconds_between(row->submitted, Clock::wall()));
  }

  void on_job_report(const core::JobReport& report) {
    const store::JobRow* row = engine.records().job(report.job.value());
    const std::string_view result = result_of(report.news);
    if (result.empty()) return;
    stops.erase(report.job.value());
    const bool lease = row != nullptr && row->kind == "lease";
    if (lease) {
      const std::string of_lease(lease_result_of(report.news, row));
      leases_finished.Add({{"result", of_lease}}).Increment();
    } else {
      finished.Add({{"result", std::string(result)}}).Increment();
    }
    if (row != nullptr && row->started && row->ended) {
      (lease ? lease_hold : run).Observe(seconds_between(*row->started, *row->ended));
    }
  }

  // Observes the duration of each step that the move reached.
  void on_move_ended(const store::MoveRow& move) {
    std::optional<store::WallTime> since = move.begun;
    const auto observe = [&](Histogram& step, const std::optional<store::WallTime>& until) {
      if (since && until) step.Observe(seconds_between(*since, *until));
      since = until;
    };
    observe(create_step, move.started);
    observe(start_step, move.ready);
    observe(switch_step, move.switched);
    observe(drain_step, move.drained);
    if (move.drained) observe(stop_step, move.ended);
    requests_finished.Increment(static_cast<double>(move.finished));
    requests_cut.Increment(static_cast<double>(move.cut));
  }

  void observe_change(std::uint32_t instance, Histogram& of) {
    const auto at = changes.find(instance);
    if (at == changes.end()) return;
    of.Observe(seconds(Steady::now() - at->second));
    changes.erase(at);
  }

  void on_step(const core::Event& event, std::chrono::nanoseconds time) {
    decision.Observe(seconds(time));
    if (const auto* created = std::get_if<core::InstanceCreated>(&event)) {
      observe_change(created->instance.value(), create_time);
    } else if (const auto* destroyed = std::get_if<core::InstanceDestroyed>(&event)) {
      observe_change(destroyed->instance.value(), destroy_time);
    } else if (const auto* failed = std::get_if<core::ActionFailed>(&event)) {
      changes.erase(failed->instance.value());
      failures.Add({{"action", std::string(core::name_of(failed->kind))}}).Increment();
    }
  }

  // A job whose stop was requested by an earlier daemon counts from the first call.
  void update_stopping_gauges() {
    double longest_job = 0;
    double longest_lease = 0;
    const auto now = Steady::now();
    for (const auto& [id, row] : engine.records().jobs()) {
      if (row.over || row.state != api::name_of(api::JobState::kStopping)) continue;
      const double time = seconds(now - stops.try_emplace(id, now).first->second);
      double& longest = row.kind == "lease" ? longest_lease : longest_job;
      longest = std::max(longest, time);
    }
    job_stopping.Set(longest_job);
    lease_releasing.Set(longest_lease);
  }

  const Engine& engine;
  const Access& access;
  prometheus::Registry registry;
  NodeMetrics node;
  boost::asio::steady_timer timer;
  std::map<std::uint32_t, Steady::time_point> changes;  // in progress, by instance
  std::map<std::uint64_t, Steady::time_point> stops;    // requested, by job

  Histogram& wait =
      histogram("tangram_job_wait_seconds", "From a job's submission to its first start.", kJobs);
  Histogram& run = histogram("tangram_job_run_seconds",
                             "From the start of a job's last run to the job's end.", kJobs);
  Histogram& lease_wait =
      histogram("tangram_lease_wait_seconds", "From the request of a lease to its grant.", kJobs);
  Histogram& lease_hold =
      histogram("tangram_lease_hold_seconds", "From the grant of a lease to its end.", kJobs);
  prometheus::Gauge& job_stopping =
      gauge("tangram_job_stopping_seconds",
            "The longest time that a job has been stopping; 0 if none is.");
  prometheus::Gauge& lease_releasing =
      gauge("tangram_lease_releasing_seconds",
            "The longest time that a lease has been releasing; 0 if none is.");
  Histogram& decision =
      histogram("tangram_decision_seconds", "Time of one step of the scheduler.", kShort);
  prometheus::Family<Histogram>& reconfiguration =
      prometheus::BuildHistogram()
          .Name("tangram_reconfiguration_seconds")
          .Help("From the decision to create or destroy an instance until the driver has done it.")
          .Register(registry);
  Histogram& create_time = reconfiguration.Add({{"action", "create"}}, kDriver);
  Histogram& destroy_time = reconfiguration.Add({{"action", "destroy"}}, kDriver);
  Histogram& commit =
      histogram("tangram_store_commit_seconds",
                "Time of one transaction of the store, until it is durable.", kMedium);
  Histogram& loop_lag = histogram("tangram_loop_lag_seconds",
                                  "How late the event loop ran a timer of its own.", kMedium);
  prometheus::Family<prometheus::Counter>& finished =
      counters("tangram_jobs_finished_total", "Finished jobs, by result.");
  prometheus::Family<prometheus::Counter>& leases_finished =
      counters("tangram_leases_finished_total", "Finished leases, by result.");
  prometheus::Family<prometheus::Counter>& moves =
      counters("tangram_moves_total", "Moves of jobs, by kind and result.");
  prometheus::Family<Histogram>& move_steps =
      prometheus::BuildHistogram()
          .Name("tangram_move_step_seconds")
          .Help(
              "Time of one step of a move: the target instance, the replica, the switch of "
              "traffic, draining the original, stopping it.")
          .Register(registry);
  Histogram& create_step = move_steps.Add({{"step", "create"}}, kDriver);
  Histogram& start_step = move_steps.Add({{"step", "start"}}, kDriver);
  Histogram& switch_step = move_steps.Add({{"step", "switch"}}, kDriver);
  Histogram& drain_step = move_steps.Add({{"step", "drain"}}, kDriver);
  Histogram& stop_step = move_steps.Add({{"step", "stop"}}, kDriver);
  prometheus::Family<prometheus::Counter>& move_requests =
      counters("tangram_move_requests_total",
               "Requests in flight at an original when traffic was switched away from it.");
  prometheus::Counter& requests_finished = move_requests.Add({{"result", "finished"}});
  prometheus::Counter& requests_cut = move_requests.Add({{"result", "cut"}});
  prometheus::Family<prometheus::Counter>& failures =
      counters("tangram_action_failures_total", "Actions of the scheduler that failed.");
  prometheus::Family<prometheus::Counter>& hooks =
      counters("tangram_hooks_total", "Reports of ended jobs to hooks, by result.");
  prometheus::Counter& commit_failures =
      counters("tangram_store_failures_total", "Failed attempts to commit or sync a transaction.")
          .Add({});
};

Metrics::Metrics(boost::asio::io_context& loop, const Engine& engine, const Hardware& hardware,
                 const Endpoints& endpoints, const Views& views, const Access& access)
    : parts_(std::make_unique<Parts>(loop, engine, hardware, endpoints, views, access)) {}

Metrics::~Metrics() = default;

void Metrics::register_handlers(http::ApiHandlers& handlers) {
  handlers.metrics = [this](const http::Caller& caller) -> http::Answer<std::string> {
    const auto admitted = parts_->access.admit(caller);
    if (!admitted) return std::unexpected(admitted.error());
    return text();
  };
}

EngineHooks Metrics::engine_hooks() {
  EngineHooks hooks;
  hooks.on_step = [this](const core::Event& event, std::chrono::nanoseconds time) {
    parts_->on_step(event, time);
  };
  hooks.on_commit = [this](std::chrono::nanoseconds time, bool succeeded) {
    parts_->commit.Observe(seconds(time));
    if (!succeeded) parts_->commit_failures.Increment();
  };
  hooks.on_action = [this](const core::Action& action) { parts_->on_action(action); };
  hooks.on_move_ended = [this](const store::MoveRow& move) { parts_->on_move_ended(move); };
  return hooks;
}

void Metrics::count_hook(std::string_view hook, std::string_view result) {
  parts_->hooks.Add({{"hook", std::string(hook)}, {"result", std::string(result)}}).Increment();
}

std::string Metrics::text() const {
  parts_->update_stopping_gauges();
  std::vector<prometheus::MetricFamily> families = parts_->registry.Collect();
  for (prometheus::MetricFamily& family : parts_->node.collect()) {
    families.push_back(std::move(family));
  }
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace tangram::daemon
