// An event on the wire: something that happened on the node, for whoever follows along. One rule:
// events are numbered without gaps in the order in which they became durable; a number is for ever.
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
  std::string key;                   // of a lease that has one
  std::string user;                  // its owner; or who did it
  std::string profile;
  std::optional<std::uint32_t> gpu;
  std::optional<std::uint32_t> start;
  std::string text;  // one sentence for people
};

[[nodiscard]] boost::json::value to_json(const EventView& event);
[[nodiscard]] Result<EventView> read_event_view(const boost::json::value& document);

}  // namespace tangram::api
