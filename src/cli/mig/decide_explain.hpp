// JSON and text forms of a decision and its explanation, for `tangram decide`.
#pragma once

#include <boost/json/value.hpp>

#include "base/error.hpp"
#include "cli/command/output.hpp"
#include "cli/mig/decide_state.hpp"
#include "core/node.hpp"
#include "core/policy.hpp"

namespace tangram::cli {

// {"gpu": 1, "start": 4, "reuse": false}
[[nodiscard]] boost::json::value slot_json(const core::Slot& slot);
// {"job": 10, "source": 5, "gpu": 5, "start": 4}
[[nodiscard]] boost::json::value move_json(const core::Move& move);

// Resolves a profile name among those of the node's GPUs. The error lists the known ones.
[[nodiscard]] Result<core::ProfileName> profile_of(const core::Node& node,
                                                   const std::string& profile);

[[nodiscard]] Result<void> explain_arrival(const core::Node& node, const Question& question,
                                           const core::Policies& policies, bool as_json,
                                           Output& out);
[[nodiscard]] Result<void> explain_departure(core::Node& node, const Question& question,
                                             const core::Policies& policies, bool as_json,
                                             Output& out);

}  // namespace tangram::cli
