// See metrics.hpp: what is counted as it happens.
#include "daemon/metrics.hpp"

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
#include "daemon/engine.hpp"
#include "daemon/node_metrics.hpp"

namespace tangram::daemon {
namespace {

using prometheus::Histogram;
using Buckets = Histogram::BucketBoundaries;
using Steady = std::chrono::steady_clock;

constexpr std::chrono::seconds kLookAtLoopEvery{1};

// From 1 µs, from 100 µs, from 10 ms; from a second to a month.
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

// Of a lease: given back, or at an end of itself (not renewed, no room, its GPU gone).
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
    // All that can come, from the start: a counter that appears with its first event hides it.
    for (const char* result : {"completed", "failed", "cancelled", "refused"}) {
      finished.Add({{"result", result}});
    }
    for (const char* result : {"released", "ended", "failed", "refused"}) {
      leases_finished.Add({{"result", result}});
    }
    for (const auto kind : {core::MoveKind::kIntra, core::MoveKind::kInter, core::MoveKind::kDrain,
                            core::MoveKind::kAsked}) {
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
    look_at_loop();
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

  // A loop that is late for its own timer keeps callers waiting as long.
  void look_at_loop() {
    const auto due = Steady::now() + kLookAtLoopEvery;
    timer.expires_at(due);
    timer.async_wait([this, due](const boost::system::error_code& stopped) {
      if (stopped) return;
      loop_lag.Observe(seconds(Steady::now() - due));
      look_at_loop();
    });
  }

  void performed(const core::Action& action) {
    if (const auto* create = std::get_if<core::CreateInstance>(&action)) {
      changes[create->instance.value()] = Steady::now();
    } else if (const auto* destroy = std::get_if<core::DestroyInstance>(&action)) {
      changes[destroy->instance.value()] = Steady::now();
    } else if (const auto* move = std::get_if<core::MoveReport>(&action)) {
      moves.Add(labels_of(move->kind, move->news)).Increment();
    } else if (const auto* start = std::get_if<core::StartJob>(&action)) {
      started(*start);
    } else if (const auto* stop = std::get_if<core::StopJob>(&action)) {
      stops.try_emplace(stop->job.value(), Steady::now());
    } else if (const auto* report = std::get_if<core::JobReport>(&action)) {
      told(*report);
    }
  }

  void started(const core::StartJob& start) {
    stops.erase(start.job.value());
    const store::JobRow* row = engine.records().job(start.job.value());
    if (row == nullptr || row->restarts > 0 || start.replica) return;
    const bool lease = row->kind == "lease";
    (lease ? lease_wait : wait).Observe(seconds_between(row->submitted, Clock::wall()));
  }

  void told(const core::JobReport& report) {
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

  // How long each step took that was reached.
  void moved(const store::MoveRow& move) {
    std::optional<store::WallTime> since = move.begun;
    const auto took = [&](Histogram& step, const std::optional<store::WallTime>& until) {
      if (since && until) step.Observe(seconds_between(*since, *until));
      since = until;
    };
    took(create_step, move.started);
    took(start_step, move.ready);
    took(switch_step, move.switched);
    took(drain_step, move.drained);
    if (move.drained) took(stop_step, move.ended);
    requests_finished.Increment(static_cast<double>(move.finished));
    requests_cut.Increment(static_cast<double>(move.cut));
  }

  void changed(std::uint32_t instance, Histogram& of) {
    const auto at = changes.find(instance);
    if (at == changes.end()) return;
    of.Observe(seconds(Steady::now() - at->second));
    changes.erase(at);
  }

  void stepped(const core::Event& event, std::chrono::nanoseconds time) {
    decision.Observe(seconds(time));
    if (const auto* created = std::get_if<core::InstanceCreated>(&event)) {
      changed(created->instance.value(), create_time);
    } else if (const auto* destroyed = std::get_if<core::InstanceDestroyed>(&event)) {
      changed(destroyed->instance.value(), destroy_time);
    } else if (const auto* failed = std::get_if<core::ActionFailed>(&event)) {
      changes.erase(failed->instance.value());
      failures.Add({{"action", std::string(core::name_of(failed->kind))}}).Increment();
    }
  }

  // How long those that are being stopped have been. One whose stop an earlier daemon asked for
  // counts from the first look.
  void look_at_stops() {
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
  std::map<std::uint32_t, Steady::time_point> changes;  // under way, by instance
  std::map<std::uint64_t, Steady::time_point> stops;    // asked for, by job

  Histogram& wait =
      histogram("tangram_job_wait_seconds", "From a job's submission to its first start.", kJobs);
  Histogram& run = histogram("tangram_job_run_seconds",
                             "From the start of a job's last run to the job's end.", kJobs);
  Histogram& lease_wait =
      histogram("tangram_lease_wait_seconds", "From asking for a lease to its grant.", kJobs);
  Histogram& lease_hold =
      histogram("tangram_lease_hold_seconds", "From the grant of a lease to its end.", kJobs);
  prometheus::Gauge& job_stopping =
      gauge("tangram_job_stopping_seconds",
            "How long the job has been stopping that has been the longest; 0 if none is.");
  prometheus::Gauge& lease_releasing =
      gauge("tangram_lease_releasing_seconds",
            "How long the lease has been releasing that has been the longest; 0 if none is.");
  Histogram& decision =
      histogram("tangram_decision_seconds", "Time of one step of the scheduler.", kShort);
  prometheus::Family<Histogram>& reconfiguration =
      prometheus::BuildHistogram()
          .Name("tangram_reconfiguration_seconds")
          .Help("From the decision to change an instance to the driver having done it.")
          .Register(registry);
  Histogram& create_time = reconfiguration.Add({{"action", "create"}}, kDriver);
  Histogram& destroy_time = reconfiguration.Add({{"action", "destroy"}}, kDriver);
  Histogram& commit =
      histogram("tangram_store_commit_seconds",
                "Time of one transaction of the store, until it is on the disk.", kMedium);
  Histogram& loop_lag = histogram("tangram_loop_lag_seconds",
                                  "How late the loop was for a timer of its own.", kMedium);
  prometheus::Family<prometheus::Counter>& finished =
      counters("tangram_jobs_finished_total", "Jobs that are over, by how they ended.");
  prometheus::Family<prometheus::Counter>& leases_finished =
      counters("tangram_leases_finished_total", "Leases that are over, by how they ended.");
  prometheus::Family<prometheus::Counter>& moves =
      counters("tangram_moves_total", "Moves of jobs, by kind and by what became of them.");
  prometheus::Family<Histogram>& move_steps =
      prometheus::BuildHistogram()
          .Name("tangram_move_step_seconds")
          .Help(
              "Time of one step of a move: the target instance, the replica, the switch of "
              "traffic, what the original had in flight, its end.")
          .Register(registry);
  Histogram& create_step = move_steps.Add({{"step", "create"}}, kDriver);
  Histogram& start_step = move_steps.Add({{"step", "start"}}, kDriver);
  Histogram& switch_step = move_steps.Add({{"step", "switch"}}, kDriver);
  Histogram& drain_step = move_steps.Add({{"step", "drain"}}, kDriver);
  Histogram& stop_step = move_steps.Add({{"step", "stop"}}, kDriver);
  prometheus::Family<prometheus::Counter>& move_requests =
      counters("tangram_move_requests_total",
               "What was in flight at an original when traffic was switched away from it.");
  prometheus::Counter& requests_finished = move_requests.Add({{"result", "finished"}});
  prometheus::Counter& requests_cut = move_requests.Add({{"result", "cut"}});
  prometheus::Family<prometheus::Counter>& failures = counters(
      "tangram_action_failures_total", "Actions of the scheduler that could not be performed.");
  prometheus::Counter& commit_failures =
      counters("tangram_store_failures_total",
               "Attempts to commit a transaction, or to put it on the disk, that failed.")
          .Add({});
};

Metrics::Metrics(boost::asio::io_context& loop, const Engine& engine, const Hardware& hardware,
                 const Endpoints& endpoints, const Views& views, const Access& access)
    : parts_(std::make_unique<Parts>(loop, engine, hardware, endpoints, views, access)) {}

Metrics::~Metrics() = default;

void Metrics::fill(http::Doors& doors) {
  doors.metrics = [this](const http::Caller& caller) -> http::Answer<std::string> {
    const auto admitted = parts_->access.admit(caller);
    if (!admitted) return std::unexpected(admitted.error());
    return text();
  };
}

Measures Metrics::measures() {
  Measures measures;
  measures.stepped = [this](const core::Event& event, std::chrono::nanoseconds time) {
    parts_->stepped(event, time);
  };
  measures.stored = [this](std::chrono::nanoseconds time, bool committed) {
    parts_->commit.Observe(seconds(time));
    if (!committed) parts_->commit_failures.Increment();
  };
  measures.performed = [this](const core::Action& action) { parts_->performed(action); };
  measures.moved = [this](const store::MoveRow& move) { parts_->moved(move); };
  return measures;
}

std::string Metrics::text() const {
  parts_->look_at_stops();
  std::vector<prometheus::MetricFamily> families = parts_->registry.Collect();
  for (prometheus::MetricFamily& family : parts_->node.collect()) {
    families.push_back(std::move(family));
  }
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace tangram::daemon
