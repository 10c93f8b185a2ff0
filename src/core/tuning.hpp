// Tuning: what an operator may change at run time. All restraint on moves is part of it, so that
// the daemon and the simulator are restrained alike.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/instant.hpp"
#include "core/threshold.hpp"

namespace tangram::core {

// A daily window in which moves may begin, in seconds after midnight of the scheduler's clock
// (the body shifts its origin to local midnight). from == to: the whole day.
struct DayWindow {
  std::int32_t from_s = 0;
  std::int32_t to_s = 0;

  friend bool operator==(const DayWindow&, const DayWindow&) = default;
};

struct Restraint {
  std::uint32_t most_moves = 4;  // at a time on this node; 0: none
  Duration cooldown =
      std::chrono::seconds(60);  // of a job, after it moved; of a batch job also after its start
  std::int64_t smallest_gain_ppm = 0;  // of FragCost, for intra-GPU moves, in millionths
  DayWindow window;
  bool protect_head = true;  // no move may take a place the first waiting job could use

  friend bool operator==(const Restraint&, const Restraint&) = default;
};

// Of queues with backfill.
struct Fairness {
  std::uint32_t max_passes = 8;                 // jobs that may pass a head that has no reservation
  Duration ageing = std::chrono::hours(1);      // of waiting, for one more of priority; 0: none
  Duration half_life = std::chrono::hours(24);  // of a user's usage; 0: it is never forgotten

  friend bool operator==(const Fairness&, const Fairness&) = default;
};

struct Tuning {
  Threshold threshold;
  std::string placement = "paper";
  std::string migration = "both";
  std::string queue = "fcfs";
  Restraint restraint;
  Fairness fairness;

  friend bool operator==(const Tuning&, const Tuning&) = default;
};

enum class Partitioning : std::uint8_t {
  kDynamic,  // instances are made and destroyed as jobs need them (§IV-C)
  kStatic,   // the layout given with each GPU stays; only its idle instances are candidates
};

}  // namespace tangram::core
