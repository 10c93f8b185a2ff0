// Explanations in sentences. One rule: a sentence is made from the fields beside it, never from
// anything else; the fields must be there already.
#pragma once

#include <cstdint>
#include <string>

#include "api/explanation.hpp"

namespace tangram::daemon {

// Of a job that waits; `holds` are the causes if it is held (core::HoldCause).
void say_waiting(std::uint8_t holds, api::Explanation& explanation);
// Of a job that has or had a place. `place`: "is running on GPU 0 at start 4".
void say_placed(const std::string& place, api::Explanation& explanation);
// Of its moves since it was placed.
void say_moves(api::Explanation& explanation);
void say_what_if(api::WhatIf& what_if);

}  // namespace tangram::daemon
