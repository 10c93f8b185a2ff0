// See endpoints.hpp: polls the counts of endpoints, which also shows whether they respond. An
// endpoint runs as the user of its service, who can stop or break it: after several missed polls it
// is killed and started again. Only the process that listens in its folder is ever killed.
#include <algorithm>
#include <array>
#include <utility>

#include <spdlog/spdlog.h>

#include "daemon/endpoints/endpoint_process.hpp"
#include "daemon/endpoints/endpoints.hpp"

namespace tangram::daemon {
namespace {

constexpr std::chrono::milliseconds kPollInterval{5'000};
constexpr int kMaxMissedPolls = 3;  // not a time, which would also pass while the daemon is stopped

using Counts = api::EndpointCounts;

// The counters; the other fields are gauges.
constexpr std::array kTotals = {&Counts::connections, &Counts::requests, &Counts::refused,
                                &Counts::retried,     &Counts::cut,      &Counts::broken,
                                &Counts::displaced,   &Counts::drained,  &Counts::bytes_in,
                                &Counts::bytes_out};

void add_totals(Counts& sum, const Counts& more) {
  for (const auto each : kTotals) sum.*each += more.*each;
}

Counts since(const Counts& before, Counts now) {
  for (const auto each : kTotals) now.*each -= std::min(now.*each, before.*each);
  return now;
}

}  // namespace

void Endpoints::poll_all() {
  threads_->poll_timer.expires_after(kPollInterval);
  threads_->poll_timer.async_wait([this](const boost::system::error_code& stopped) {
    if (stopped) return;
    std::vector<ProcessPtr> all(ending_.begin(), ending_.end());
    for (const auto& [job, process] : processes_) {
      if (process) all.push_back(process);
    }
    for (const ProcessPtr& process : all) poll(process);
    poll_all();
  });
}

// An ending endpoint must exit within as many polls; any other must respond.
void Endpoints::poll(const ProcessPtr& process) {
  const bool is_ending = process->phase == EndpointProcess::Phase::kEnding;
  if (process->phase == EndpointProcess::Phase::kStarting || process->is_starting) return;
  if (process->version_mismatch && !is_ending) return;
  if (process->missed_polls++ < kMaxMissedPolls) {
    if (process->link) process->link->send({{"do", "counts"}, {"id", ++process->last_id}});
    return;
  }
  const auto killed =
      process->link ? process->link->kill_peer() : Result<void>(failed("not connected."));
  if (killed) {
    spdlog::error("job {}: its endpoint does not respond; killed it", process->job);
  } else {
    spdlog::error("job {}: its endpoint does not respond and cannot be killed: {}", process->job,
                  killed.error().message);
  }
}

// The metrics' counters start at 0 with the daemon, so what an endpoint counted for an earlier
// daemon is subtracted.
void Endpoints::on_counts(const ProcessPtr& process, const Counts& reported) {
  if (std::exchange(process->is_recovered, false)) process->counts_at_recovery = reported;
  process->counts = since(process->counts_at_recovery, reported);
}

// The process is gone: adds its counters to past_counts_.
void Endpoints::keep_counts(const ProcessPtr& process) {
  add_totals(past_counts_, process->counts);
  process->counts = {};
  process->counts_at_recovery = {};
  process->is_recovered = false;
}

api::EndpointCounts Endpoints::counts() const {
  Counts sum = past_counts_;
  const auto add = [&](const EndpointProcess& process) {
    add_totals(sum, process.counts);
    sum.open += process.counts.open;
    sum.active += process.counts.active;
  };
  for (const auto& [job, process] : processes_) {
    if (process) add(*process);
  }
  for (const ProcessPtr& process : ending_) add(*process);
  return sum;
}

}  // namespace tangram::daemon
