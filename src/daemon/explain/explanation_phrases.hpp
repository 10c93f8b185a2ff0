// Phrases for explanation_text.hpp: lists of numbers, placements, names of jobs and leases, and
// sentences about moves. Made from wire values only.
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
  constexpr std::size_t kMax = 12;
  std::vector<std::string> words;
  for (std::size_t i = 0; i < std::min(kMax, numbers.size()); ++i) {
    words.push_back(std::to_string(numbers[i]));
  }
  if (numbers.size() > kMax) words.push_back(cat(numbers.size() - kMax, " more"));
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

// Adds which of the blocking jobs are never moved.
void describe_pinned(const api::ExplanationBase& why, std::vector<std::string>& text);
// Adds which services could make room by moving if they allowed it.
void describe_could_move(const api::ExplanationBase& why, std::vector<std::string>& text);
// Adds moves that would make room: who may request them, with which commands, and their restraints.
void describe_move_option(const api::UnblockingMoves& option, const std::string& condition,
                          std::vector<std::string>& text);
// Adds why the scheduler does not make such moves on its own.
void describe_own_moves(const std::vector<api::UnblockingMoves>& unblocking_moves,
                        std::vector<std::string>& text);
// Why a move was made.
[[nodiscard]] std::string why_moved(const api::MoveRecordView& move);

}  // namespace tangram::daemon
