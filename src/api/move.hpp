// Moves on the wire: a manual move of a job, and a plan of moves that would reduce the node's
// FragCost. A slot is always the pair of GPU and start.
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
  std::optional<SlotView> to;  // nullopt: the placement policy chooses another slot

  friend bool operator==(const MoveRequest&, const MoveRequest&) = default;
};

// FragCost here is the node's: the mean over its GPUs, as if moves in progress had finished.
struct DefragStepView {
  std::uint64_t job = 0;
  std::string name;
  std::string user;
  std::string profile;
  SlotView from;
  SlotView to;
  bool reuse = false;  // an idle instance exists there already
  std::string kind;    // "intra" (within one GPU) or "inter"
  double gain = 0;     // reduction of the FragCost by this step

  friend bool operator==(const DefragStepView&, const DefragStepView&) = default;
};

struct DefragPlan {
  double frag_cost_before = 0;
  double frag_cost_after = 0;         // after all steps
  std::vector<DefragStepView> steps;  // in order; empty: no move would help

  friend bool operator==(const DefragPlan&, const DefragPlan&) = default;
};

[[nodiscard]] boost::json::value to_json(const MoveRequest& request);
// Reads {} or {"to": {"gpu": 1, "start": 4}}. The daemon checks whether there is such a slot.
[[nodiscard]] Result<MoveRequest> read_move_request(const boost::json::value& document);
[[nodiscard]] boost::json::value to_json(const DefragPlan& plan);
[[nodiscard]] Result<DefragPlan> read_defrag_plan(const boost::json::value& document);

}  // namespace tangram::api
