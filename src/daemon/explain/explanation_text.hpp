// Explanations as sentences, appended to the `text` of an explanation. They are made from its other
// fields only, which must be filled in before.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/explanation.hpp"
#include "core/policy.hpp"

namespace tangram::daemon {

// Why a GPU without MIG mode is no candidate, in ObstacleView::why.
inline constexpr std::string_view kMigIsOff = "MIG mode is off";

// For a queued or held job; `holds`: its hold causes (core::HoldCause bits); `passing`: of the
// queue.
void describe_waiting(std::uint8_t holds, api::Explanation& explanation,
                      core::Passing passing = core::Passing::kNone);
// What a queue with backfill knows of the start of a queued job.
struct StartFacts {
  std::optional<api::WallTime> reserved =
      {};  // the time of its reservation, on this GPU at this start
  std::uint32_t gpu = 0;
  std::uint32_t start = 0;
  std::optional<api::WallTime> lost = {};  // the time of a reservation that a fault has ended
  std::uint32_t passed = 0;                // jobs that have passed it, of at most
  std::uint32_t max_passes = 0;
};
// For a queued job whose queue has backfill.
void describe_start(const StartFacts& facts, api::Explanation& explanation);
// For a job that is or was placed. `place`: e.g. "is running on GPU 0 at start 4".
void describe_placed(const std::string& place, api::Explanation& explanation);
// For its moves since it was placed.
void describe_moves(api::Explanation& explanation);
void describe_what_if(api::WhatIf& what_if, core::Passing passing = core::Passing::kNone);

}  // namespace tangram::daemon
