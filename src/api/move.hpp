// Moves on the wire: where a job is to be moved by hand, and a plan of moves that would bring the
// node's FragCost down. One rule: as job.hpp, plain values and their JSON; a place is always the
// pair of GPU and start.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/value.hpp>

#include "base/error.hpp"

namespace tangram::api {

struct SlotView {
  std::uint32_t gpu = 0;  // index in the node
  std::uint32_t start = 0;

  friend bool operator==(const SlotView&, const SlotView&) = default;
};

struct MoveRequest {
  std::optional<SlotView> to;  // none: the arrival choice of the placement policy, elsewhere

  friend bool operator==(const MoveRequest&, const MoveRequest&) = default;
};

// FragCost here is the node's: the mean over its GPUs, as if the moves under way were over.
struct DefragStepView {
  std::uint64_t job = 0;
  std::string name;
  std::string user;
  std::string profile;
  SlotView from;
  SlotView to;
  bool reuse = false;  // an idle instance stands there already
  std::string kind;    // "intra": within its GPU; "inter"
  double gain = 0;     // what the step takes off the FragCost

  friend bool operator==(const DefragStepView&, const DefragStepView&) = default;
};

struct DefragPlan {
  double frag_cost_before = 0;
  double frag_cost_after = 0;         // of all steps
  std::vector<DefragStepView> steps;  // in this order; empty: there is nothing to gain

  friend bool operator==(const DefragPlan&, const DefragPlan&) = default;
};

[[nodiscard]] boost::json::value to_json(const MoveRequest& request);
// {} or {"to": {"gpu": 1, "start": 4}}; whether there is such a place is the daemon's to know.
[[nodiscard]] Result<MoveRequest> read_move_request(const boost::json::value& document);
[[nodiscard]] boost::json::value to_json(const DefragPlan& plan);
[[nodiscard]] Result<DefragPlan> read_defrag_plan(const boost::json::value& document);

}  // namespace tangram::api
