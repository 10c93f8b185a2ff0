// See endpoints.hpp: the connection to an endpoint, its route, and its end.
#include <filesystem>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/json/object.hpp>
#include <spdlog/spdlog.h>

#include "base/text.hpp"
#include "daemon/endpoints/endpoint_process.hpp"
#include "daemon/endpoints/endpoints.hpp"
#include "endpoint/process/folder.hpp"

namespace tangram::daemon {
namespace {

constexpr std::chrono::milliseconds kReconnectDelay{100};
constexpr std::chrono::milliseconds kSwitchTimeout{10'000};
constexpr std::chrono::milliseconds kRevertTimeout{10'000};
constexpr std::chrono::milliseconds kDrainMargin{10'000};
// A process that exits sooner is restarted after a back-off.
constexpr std::chrono::milliseconds kMinUptime{10'000};
constexpr std::chrono::milliseconds kExitDrain{5'000};

std::optional<std::int64_t> number_in(const boost::json::object& line, const char* key) {
  const auto* value = line.if_contains(key);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  boost::system::error_code bad;
  const auto number = value->to_number<std::int64_t>(bad);
  return bad ? std::nullopt : std::optional(number);
}

}  // namespace

void Endpoints::open_link(const ProcessPtr& process) {
  if (process->phase != EndpointProcess::Phase::kEnding)
    process->phase = EndpointProcess::Phase::kLinked;
  process->has_greeting = false;
  process->requested.reset();
  process->route_id = 0;
  const std::weak_ptr<EndpointProcess> weak = process;
  ControlLink::Callbacks callbacks;
  callbacks.on_line = [this, weak](const boost::json::object& line) {
    if (const ProcessPtr self = weak.lock()) on_line(self, line);
  };
  callbacks.on_closed = [this, weak] {
    if (const ProcessPtr self = weak.lock()) on_link_closed(self);
  };
  process->link = std::make_unique<ControlLink>(loop_, process->folder, std::move(callbacks));
}

// The process has exited, or only the connection was lost.
void Endpoints::on_link_closed(const ProcessPtr& process) {
  process->link.reset();
  process->has_greeting = false;
  const bool is_running = endpoint::is_endpoint_running(process->folder);
  const bool is_ending = process->phase == EndpointProcess::Phase::kEnding;
  if (!is_running && is_ending) {
    remove_exited(process);
    return;
  }
  if (!is_running) {
    spdlog::error("job {}: its endpoint exited; restarting it", process->job);
    keep_counts(process);
    process->routed.reset();
    process->missed_polls = 0;
    if (process->is_reverting) fail_switch(process);  // it relays nothing to the replica any more
    process->phase = EndpointProcess::Phase::kStarting;
    const auto greeted = std::exchange(process->first_greeting, std::nullopt);
    if (!greeted || std::chrono::steady_clock::now() - *greeted < kMinUptime) {
      retry_start(process, "it exited right after it was started; see its log.");
      return;
    }
    process->attempts = 0;
    start_or_connect(process);
    return;
  }
  process->retry.expires_after(kReconnectDelay);
  process->retry.async_wait(
      [this, alive = alive_, process](const boost::system::error_code& stopped) {
        if (stopped || !*alive || process->link) return;
        open_link(process);
        if (process->phase == EndpointProcess::Phase::kEnding) end_process(process);
      });
}

void Endpoints::remove_exited(const ProcessPtr& process) {
  keep_counts(process);
  std::error_code ignored;
  std::filesystem::remove_all(process->folder, ignored);
  ending_.erase(process);
}

void Endpoints::on_line(const ProcessPtr& process, const boost::json::object& line) {
  if (process->phase != EndpointProcess::Phase::kEnding) process->missed_polls = 0;
  if (line.contains("version")) {
    on_greeting(process, line);
    return;
  }
  if (line.contains("drained")) {
    on_drained(process, line);
    return;
  }
  const auto id = number_in(line, "done");
  if (!id) {
    const auto* error = line.if_contains("error");
    if (error != nullptr && error->is_string()) {
      spdlog::error("job {}: its endpoint reports: {}", process->job,
                    std::string_view(error->get_string()));
    }
    return;
  }
  if (const auto* counts = line.if_contains("counts")) {
    if (const auto read = api::read_endpoint_counts(*counts)) on_counts(process, *read);
    return;
  }
  if (*id == process->route_id) on_route_done(process);
}

// The first line has the endpoint's address, which becomes the job's, and its current route.
void Endpoints::on_greeting(const ProcessPtr& process, const boost::json::object& line) {
  const auto version = number_in(line, "version").value_or(0);
  process->version_mismatch = version != api::kEndpointVersion;
  if (process->version_mismatch && process->phase != EndpointProcess::Phase::kEnding) {
    set_reason(process, cat("speaks version ", version, ", but this tangramd supports ",
                            api::kEndpointVersion,
                            " only: it keeps serving, but the job cannot be moved. Restart the "
                            "job, and use programs "
                            "of one version."));
    return;
  }
  process->has_greeting = true;
  if (!process->first_greeting) process->first_greeting = std::chrono::steady_clock::now();
  const auto run = number_in(line, "run");
  process->routed = run ? std::optional(static_cast<std::uint32_t>(*run)) : std::nullopt;
  if (process->phase == EndpointProcess::Phase::kEnding) return;
  // Requested now, not at the next poll: counts until then would be subtracted, too.
  if (process->is_recovered) process->link->send({{"do", "counts"}, {"id", ++process->last_id}});
  const auto port = number_in(line, "port");
  const auto* host = line.if_contains("host");
  if (port && host != nullptr && host->is_string()) {
    process->spec.port = static_cast<std::uint16_t>(*port);
    const bool is_v6 = std::string_view(host->get_string()).find(':') != std::string_view::npos;
    const std::string name(host->get_string());
    const std::string address = cat(is_v6 ? "[" : "", name, is_v6 ? "]:" : ":", *port);
    const store::JobRow* row = engine_.records().job(process->job);
    if (row != nullptr && (row->address != address || !row->reason.empty())) {
      engine_.post(Input{.event = core::WakeUp{},
                         .edit_rows = [job = process->job, address, number = process->spec.port,
                                       has_request = process->has_request](JobTable& records) {
                           store::JobRow* stored = records.edit_job(job);
                           if (stored == nullptr) return;
                           stored->address = address;
                           stored->port = number;
                           if (has_request && stored->reason.starts_with("its endpoint "))
                             stored->reason.clear();
                         }});
    }
  }
  if (process->is_reverting && process->routed != process->pending->to.value())
    fail_switch(process);
  apply_route(process);
}

// To the original while a failed switch is being reverted.
std::optional<Endpoints::Route> Endpoints::committed_route(const EndpointProcess& process) const {
  const core::Node& node = engine_.scheduler().node();
  const core::JobSlot slot = node.find_job(core::JobId(process.job));
  if (slot == core::kNoJob) return std::nullopt;
  const core::Job& job = node.job(slot);
  const bool switched = job.move == core::MovePhase::kSwitching ||
                        job.move == core::MovePhase::kDraining ||
                        job.move == core::MovePhase::kStopping;
  const bool to_replica = switched && job.replica.ready && !process.is_reverting;
  const core::Replica& target = to_replica ? job.replica : job.main;
  if (target.run == core::kNoRun || !target.ready) return std::nullopt;
  const store::RunRow* row = engine_.records().run(target.run.value());
  if (row == nullptr || !row->port) return std::nullopt;
  return Route{.run = target.run.value(), .port = *row->port};
}

void Endpoints::apply_route(const ProcessPtr& process) {
  if (!process->link || !process->has_greeting || process->phase != EndpointProcess::Phase::kLinked)
    return;
  const auto route = committed_route(*process);
  const bool is_requested = process->route_id != 0 && process->requested == route;
  // Repeated for a pending switch to the same route: the endpoint then reports the drain again,
  // too.
  const bool must_confirm = process->pending && route && route->run == process->pending->to.value();
  if (is_requested && !(must_confirm && process->is_confirmed)) return;
  process->requested = route;
  process->is_confirmed = false;
  process->route_id = ++process->last_id;
  if (!route) {
    process->link->send({{"do", "hold"}, {"id", process->route_id}});
    return;
  }
  process->link->send({{"do", "route"},
                       {"id", process->route_id},
                       {"run", route->run},
                       {"port", route->port},
                       {"drain_ms", process->drain.count()}});
}

void Endpoints::on_route_done(const ProcessPtr& process) {
  const auto before = process->routed;
  process->is_confirmed = true;
  process->routed = process->requested ? std::optional(process->requested->run) : std::nullopt;
  if (!process->pending || process->routed != process->pending->to.value()) return;
  const bool reports_drain = before == process->pending->from.value() || before == process->routed;
  report_switched(process);
  // An endpoint that never routed to the original cannot report when it is drained.
  if (process->draining && !reports_drain) report_drained(process, 0, 0);
}

void Endpoints::switch_traffic(const core::SwitchTraffic& action) {
  const auto known = processes_.find(action.job.value());
  if (known == processes_.end() || !known->second) {
    engine_.post(core::TrafficSwitched{action.job, action.to});
    if (action.from != core::kNoRun) {
      engine_.post(core::TrafficDrained{action.job, action.from, action.to});
    }
    return;
  }
  const ProcessPtr process = known->second;
  if (!process->has_request) {
    if (const auto read = read_request(*process); !read) {
      spdlog::error("job {}: cannot read its drain time, using the default: {}", process->job,
                    read.error().message);
    }
  }
  process->pending = action;
  process->is_reverting = false;
  process->draining.reset();
  process->deadline.expires_after(kSwitchTimeout);
  process->deadline.async_wait(
      [this, alive = alive_, process](const boost::system::error_code& stopped) {
        if (!stopped && *alive && process->pending) revert_route(process);
      });
  apply_route(process);
}

// The switch timed out, so whether traffic goes to the replica is not known, and the replica is
// stopped as soon as the failure is posted. So the route is first set back to the original. The
// failure is posted when the replica has no traffic, when the endpoint is gone, or after a timeout.
void Endpoints::revert_route(const ProcessPtr& process) {
  spdlog::error("job {}: its endpoint did not switch within {} ms", process->job,
                kSwitchTimeout.count());
  if (!process->link && !endpoint::is_endpoint_running(process->folder)) {
    fail_switch(process);
    return;
  }
  process->is_reverting = true;
  process->deadline.expires_after(kRevertTimeout);
  process->deadline.async_wait(
      [this, alive = alive_, process](const boost::system::error_code& stopped) {
        if (!stopped && *alive && process->is_reverting) fail_switch(process);
      });
  apply_route(process);
}

void Endpoints::fail_switch(const ProcessPtr& process) {
  const core::SwitchTraffic pending = *std::exchange(process->pending, std::nullopt);
  process->is_reverting = false;
  process->deadline.cancel();
  core::ActionFailed event;
  event.kind = core::ActionKind::kSwitchTraffic;
  event.job = pending.job;
  event.run = pending.to;
  engine_.post(Input{.event = event, .edit_rows = [job = process->job](JobTable& records) {
                       store::MoveRow* move = records.edit_move(job);
                       if (move == nullptr || !move->reason.empty()) return;
                       move->reason = cat("its endpoint did not switch within ",
                                          kSwitchTimeout.count(), " ms");
                     }});
}

void Endpoints::report_switched(const ProcessPtr& process) {
  const core::SwitchTraffic pending = *std::exchange(process->pending, std::nullopt);
  process->deadline.cancel();
  engine_.post(core::TrafficSwitched{pending.job, pending.to});
  if (pending.from == core::kNoRun) return;
  process->draining = pending;
  // The endpoint cuts requests that take too long; this timer is for an endpoint that died.
  process->deadline.expires_after(process->drain + kDrainMargin);
  process->deadline.async_wait(
      [this, alive = alive_, process](const boost::system::error_code& stopped) {
        if (!stopped && *alive && process->draining) report_drained(process, 0, 0);
      });
}

void Endpoints::on_drained(const ProcessPtr& process, const boost::json::object& line) {
  const auto run = number_in(line, "drained");
  if (process->is_reverting && run && *run == process->pending->to.value()) {
    fail_switch(process);
    return;
  }
  if (!process->draining || !run || *run != process->draining->from.value()) return;
  const auto amount = [&](const char* key) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, number_in(line, key).value_or(0)));
  };
  report_drained(process, amount("finished"), amount("cut"));
}

void Endpoints::report_drained(const ProcessPtr& process, std::uint64_t finished,
                               std::uint64_t cut) {
  const core::SwitchTraffic was = *std::exchange(process->draining, std::nullopt);
  process->deadline.cancel();
  engine_.post(Input{.event = core::TrafficDrained{was.job, was.from, was.to},
                     .edit_rows = [job = process->job, finished, cut](JobTable& records) {
                       if (store::MoveRow* row = records.edit_move(job)) {
                         row->finished += finished;
                         row->cut += cut;
                       }
                     }});
}

// The job has ended. The process drains its requests, reports its counts and exits; poll_all()
// kills it if it does not.
void Endpoints::end_process(const ProcessPtr& process) {
  ending_.insert(process);
  if (process->phase != EndpointProcess::Phase::kEnding) process->missed_polls = 0;
  process->phase = EndpointProcess::Phase::kEnding;
  process->retry.cancel();
  process->deadline.cancel();
  process->pending.reset();
  process->is_reverting = false;
  process->draining.reset();
  if (process->is_starting) return;  // on_started() continues
  if (!process->link && !endpoint::is_endpoint_running(process->folder)) {
    remove_exited(process);
    return;
  }
  if (!process->link) open_link(process);
  process->link->send({{"do", "counts"}, {"id", ++process->last_id}});
  process->link->send(
      {{"do", "end"}, {"id", ++process->last_id}, {"drain_ms", kExitDrain.count()}});
}

}  // namespace tangram::daemon
