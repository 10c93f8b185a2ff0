// Explanations as callers get them: the core's data turned into wire values, and into sentences.
// One rule: a sentence is made from the fields beside it, never from anything else.
#pragma once

#include <string>
#include <vector>

#include "api/explanation.hpp"
#include "core/explain.hpp"
#include "core/explain_job.hpp"

namespace tangram::daemon {

// Candidates, what decided between the first two, and the GPUs without one.
void add_arrival(const core::ArrivalExplanation& from, const core::PlacementPolicy& policy,
                 api::Explanation& to);
void add_arrival(const core::ArrivalExplanation& from, const core::PlacementPolicy& policy,
                 api::WhatIf& to);
// What would unblock it.
void add_waiting(const core::WaitingExplanation& from, const core::Node& node,
                 api::Explanation& to);
void add_waiting(const core::WaitingExplanation& from, const core::Node& node, api::WhatIf& to);

// The sentences; the fields must be there already.
void say_waiting(const core::JobExplanation& how, api::Explanation& explanation);
void say_placed(const std::string& place, api::Explanation& explanation);
// `beyond`: what the caller may not have; empty: nothing stands against it.
void say_what_if(api::WhatIf& what_if, const std::string& beyond);

}  // namespace tangram::daemon
