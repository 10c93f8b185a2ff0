// An event of the node on the wire. Events are numbered without gaps in the order in which they
// became durable; a number is never reused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <boost/json/value.hpp>

#include "api/job.hpp"
#include "base/error.hpp"

namespace tangram::api {

struct EventView {
  std::uint64_t id = 0;
  WallTime time{};
  // "job.submitted" queued held placed starting running requeued stopping completed failed
  // cancelled refused lost; "lease.waiting" granted releasing over;
  // "move.asked" begun switched done rolled-back taken-over; "gpu.added" health cordoned uncordoned
  // draining drained quarantined unquarantined; "tuning.changed".
  std::string kind;
  std::optional<std::uint64_t> job;  // or lease
  std::string name;                  // of the job
  std::string key;                   // of the lease; may be empty
  std::string user;                  // the owner, or the user who caused the event
  std::string profile;
  std::optional<std::uint32_t> gpu;
  std::optional<std::uint32_t> start;
  std::string text;  // one sentence for people
};

[[nodiscard]] boost::json::value to_json(const EventView& event);
[[nodiscard]] Result<EventView> read_event_view(const boost::json::value& document);

}  // namespace tangram::api
