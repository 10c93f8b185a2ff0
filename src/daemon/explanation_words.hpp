// The parts that sentences of explanations are put together from: numbers in lists, places, jobs
// and leases by their names, and what is to be said of moves. One rule: as explanation_text.hpp,
// they are made from wire values alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "api/explanation.hpp"
#include "base/text.hpp"

namespace tangram::daemon {

// "0, 2 and 4"; of a long list the first dozen.
template <class Number>
std::string list_text(const std::vector<Number>& numbers) {
  constexpr std::size_t kMost = 12;
  std::vector<std::string> words;
  for (std::size_t i = 0; i < std::min(kMost, numbers.size()); ++i) {
    words.push_back(std::to_string(numbers[i]));
  }
  if (numbers.size() > kMost) words.push_back(cat(numbers.size() - kMost, " more"));
  return join_words(words);
}

[[nodiscard]] std::string place_text(std::uint32_t gpu, std::uint32_t start);
[[nodiscard]] std::string fraction_text(double cost);
[[nodiscard]] bool is_lease(std::uint64_t job, const std::vector<std::uint64_t>& leases);
// "job 7", "jobs 7 and 8", "job 7 and lease 8".
[[nodiscard]] std::string named(const std::vector<std::uint64_t>& jobs,
                                const std::vector<std::uint64_t>& leases);
// "Job 7", "Lease 7".
[[nodiscard]] std::string named_first(std::uint64_t job, const std::vector<std::uint64_t>& leases);

// Which of the jobs that are in the way are never moved.
void say_pinned(const api::Why& why, std::vector<std::string>& text);
// A way to make room: whether the caller may ask for it, by which commands, and what restrains it.
void say_room(const api::RoomView& room, const std::string& condition,
              std::vector<std::string>& text);
// Why the scheduler does not make such moves by itself.
void say_own_moves(const std::vector<api::RoomView>& rooms, std::vector<std::string>& text);
// Why a move was made.
[[nodiscard]] std::string why_moved(const api::MovedView& move);

}  // namespace tangram::daemon
