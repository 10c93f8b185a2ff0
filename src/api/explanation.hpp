// Why, on the wire: why a job is where it is, why another waits and what would unblock it, and what
// would become of a job that is not there yet. One rule: `text` says in sentences what the fields
// say in data; neither says more than the other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/value.hpp>

#include "api/job.hpp"
#include "base/error.hpp"

namespace tangram::api {

// A slot that could take the job, and what it would do to the GPU.
struct CandidateView {
  std::uint32_t gpu = 0;
  std::uint32_t start = 0;
  bool busy = false;  // of Lazy and Busy
  double frag_before = 0;
  double frag_after = 0;
};

// A GPU that has no slot for it.
struct ObstacleView {
  std::uint32_t gpu = 0;
  std::string why;  // one word: "fragmented"; the words are those of core::NoCandidate
};

struct MoveView {
  std::uint64_t job = 0;
  std::uint32_t from_gpu = 0;
  std::uint32_t from_start = 0;
  std::uint32_t to_gpu = 0;
  std::uint32_t to_start = 0;
};

// These moves, in this order, and then the slot is free.
struct RoomView {
  std::vector<MoveView> moves;
  std::uint32_t gpu = 0;
  std::uint32_t start = 0;
};

struct Explanation {
  std::uint64_t job = 0;
  std::string profile;
  JobState state = JobState::kQueued;
  std::vector<std::string> text;  // sentences, the answer first

  // Of a job that has a place: the decision as it was made. The winner first.
  std::optional<std::uint64_t> step;  // of the journal
  std::optional<WallTime> decided;
  std::vector<CandidateView> candidates;
  std::string decided_by;  // in what the winner beats the next one; empty: there was no other

  // Of one that waits.
  std::vector<std::uint64_t> ahead;       // in the queue
  std::optional<WallTime> retry;          // when a place that failed may be tried again
  std::vector<RoomView> rooms;            // fewest moves first
  std::vector<std::uint64_t> departures;  // jobs each of whose end alone would do
  std::vector<std::string> fits_now;      // profiles that could start at once

  std::vector<ObstacleView> obstacles;  // GPUs without a candidate
};

struct WhatIfQuestion {
  std::string profile;                          // or
  std::optional<std::uint64_t> gpu_memory_mib;  // the smallest profile that has so much
};

struct WhatIf {
  std::string profile;
  bool starts_now = false;  // it would be placed at once
  std::uint32_t ahead = 0;  // jobs that wait before it
  std::vector<std::string> text;
  std::vector<CandidateView> candidates;  // the winner first
  std::string decided_by;
  std::vector<RoomView> rooms;
  std::vector<std::uint64_t> departures;
  std::vector<std::string> fits_now;
  std::vector<ObstacleView> obstacles;
};

[[nodiscard]] boost::json::value to_json(const Explanation& explanation);
[[nodiscard]] Result<Explanation> read_explanation(const boost::json::value& document);
[[nodiscard]] boost::json::value to_json(const WhatIf& what_if);
[[nodiscard]] Result<WhatIf> read_what_if(const boost::json::value& document);

}  // namespace tangram::api
