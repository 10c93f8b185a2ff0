// See endpoints.hpp: what endpoints count, and whether they still answer. An endpoint runs as the
// user of its service, who can stop it; it is then ended and opened again. One rule: only the
// process that listens in its folder is ever killed, and only after it was asked several times.
#include <algorithm>
#include <array>
#include <utility>

#include <spdlog/spdlog.h>

#include "daemon/endpoints.hpp"
#include "daemon/endpoints_door.hpp"

namespace tangram::daemon {
namespace {

constexpr std::chrono::milliseconds kLookEvery{5'000};
constexpr int kMostSilent = 3;  // looks; not a time, which would pass while we are stopped too

using Counts = api::EndpointCounts;

// Those that only grow; the others say how things stand now.
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

void Endpoints::watch() {
  threads_->count_timer.expires_after(kLookEvery);
  threads_->count_timer.async_wait([this](const boost::system::error_code& stopped) {
    if (stopped) return;
    std::vector<DoorPtr> all(ending_.begin(), ending_.end());
    for (const auto& [job, door] : doors_) {
      if (door) all.push_back(door);
    }
    for (const DoorPtr& door : all) watch(door);
    watch();
  });
}

// Counts are for metrics, and an answer says that it lives. Of one that was told to end, the end is
// the answer.
void Endpoints::watch(const DoorPtr& door) {
  const bool is_ending = door->phase == Door::Phase::kEnding;
  if (door->phase == Door::Phase::kOpening || door->is_starting) return;
  if (door->is_strange && !is_ending) return;
  if (door->silent++ < kMostSilent) {
    if (door->link) door->link->send({{"do", "counts"}, {"id", ++door->last_id}});
    return;
  }
  const auto killed =
      door->link ? door->link->kill_peer() : Result<void>(failed("it cannot be spoken to."));
  if (killed) {
    spdlog::error("job {}: its endpoint does not answer; it was killed", door->job);
  } else {
    spdlog::error("job {}: its endpoint does not answer and cannot be killed: {}", door->job,
                  killed.error().message);
  }
}

// Counters begin at 0 with the daemon. What an endpoint did for an earlier one was counted there:
// counted again, it would look like a day's requests in one moment.
void Endpoints::counted(const DoorPtr& door, const Counts& told) {
  if (std::exchange(door->is_found, false)) door->counted_before = told;
  door->counts = since(door->counted_before, told);
}

// It is gone: what it counted stays counted.
void Endpoints::keep_counts(const DoorPtr& door) {
  add_totals(past_, door->counts);
  door->counts = {};
  door->counted_before = {};
  door->is_found = false;
}

api::EndpointCounts Endpoints::counts() const {
  Counts sum = past_;
  const auto add = [&](const Door& door) {
    add_totals(sum, door.counts);
    sum.open += door.counts.open;
    sum.active += door.counts.active;
  };
  for (const auto& [job, door] : doors_) {
    if (door) add(*door);
  }
  for (const DoorPtr& door : ending_) add(*door);
  return sum;
}

}  // namespace tangram::daemon
