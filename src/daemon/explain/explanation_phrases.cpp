// See explanation_phrases.hpp.
#include "daemon/explain/explanation_phrases.hpp"

#include <cmath>
#include <set>

namespace tangram::daemon {
namespace {

std::string restraint_text(const api::RestraintView& by, std::uint64_t job) {
  const std::string until = by.until ? api::wall_text(*by.until) : "";
  if (by.by == "migration") return "moves are disabled (migration = off)";
  if (by.by == "window") return cat("the window for moves opens at ", until);
  if (by.by == "cooldown")
    return cat("job ", job, " was started or moved recently (cooldown until ", until, ")");
  if (by.by == "most_moves") return "the limit most_moves is reached";
  return "it would take a placement that the queue head could use (protect_head)";
}

// Without duplicates.
std::vector<std::string> restraints_of(const api::UnblockingMoves& option) {
  std::vector<std::string> words;
  for (const api::ProposedMoveView& move : option.moves) {
    for (const api::RestraintView& by : move.restrained_by) {
      const std::string text = restraint_text(by, move.job);
      if (std::ranges::find(words, text) == words.end()) words.push_back(text);
    }
  }
  return words;
}

bool is_full(const api::UnblockingMoves& option) {
  return std::ranges::any_of(option.moves, [](const api::ProposedMoveView& move) {
    return std::ranges::any_of(move.restrained_by,
                               [](const api::RestraintView& by) { return by.by == "most_moves"; });
  });
}

std::string commands_of(const api::UnblockingMoves& option) {
  std::string text;
  for (const api::ProposedMoveView& move : option.moves) {
    text += cat(text.empty() ? "" : ", and when that has finished ", "`tangram move ", move.job,
                " --to ", move.to_gpu, ":", move.to_start, "`");
  }
  return text;
}

// Owners of the jobs that the caller may not move, and admins.
std::string owners_of(const api::UnblockingMoves& option) {
  std::vector<std::string> words;
  std::set<std::string> users;
  for (const api::ProposedMoveView& move : option.moves) {
    if (!move.may && users.insert(move.user).second) words.push_back(move.user);
  }
  words.emplace_back("admins");
  return join_words(words);
}

std::string request_text(const api::UnblockingMoves& option) {
  const bool may = std::ranges::all_of(option.moves, &api::ProposedMoveView::may);
  const bool single = option.moves.size() == 1;
  const std::string it = single ? "it" : "them";
  const std::vector<std::string> by = restraints_of(option);
  if (may && by.empty()) return cat("You may request ", it, ": ", commands_of(option), ".");
  if (may) {
    return cat("The scheduler is restrained: ", join_words(by), "; as an admin you may request ",
               it, " nevertheless: ", commands_of(option), ".");
  }
  if (by.empty()) return cat("Only ", owners_of(option), " may request ", it, ".");
  const std::string reasons = join_words(by);
  if (!is_full(option)) return cat("Only an admin may request ", it, " now: ", reasons, ".");
  return cat(single ? "It" : "They", " cannot be requested now: ", reasons, ".");
}

}  // namespace

std::string place_text(std::uint32_t gpu, std::uint32_t start) {
  return cat("GPU ", gpu, " start ", start);
}

std::string fraction_text(double cost) {
  const long thousandths = std::lround(cost * 1000);
  std::string digits = std::to_string(thousandths % 1000);
  digits.insert(0, 3 - digits.size(), '0');
  return cat(thousandths / 1000, ".", digits);
}

bool is_lease(std::uint64_t job, const std::vector<std::uint64_t>& leases) {
  return std::ranges::find(leases, job) != leases.end();
}

std::string named(const std::vector<std::uint64_t>& jobs,
                  const std::vector<std::uint64_t>& leases) {
  constexpr std::size_t kMax = 12;
  const bool plain =
      std::ranges::none_of(jobs, [&](std::uint64_t job) { return is_lease(job, leases); });
  if (plain) return cat(jobs.size() == 1 ? "job " : "jobs ", list_text(jobs));
  std::vector<std::string> words;
  for (const std::uint64_t job : jobs) {
    if (words.size() < kMax) words.push_back(cat(is_lease(job, leases) ? "lease " : "job ", job));
  }
  if (jobs.size() > kMax) words.push_back(cat(jobs.size() - kMax, " more"));
  return join_words(words);
}

std::string named_first(std::uint64_t job, const std::vector<std::uint64_t>& leases) {
  return cat(is_lease(job, leases) ? "Lease " : "Job ", job);
}

void describe_pinned(const api::ExplanationBase& why, std::vector<std::string>& text) {
  std::vector<std::uint64_t> jobs = why.pinned;
  std::erase_if(jobs, [&](std::uint64_t job) { return is_lease(job, why.leases); });
  if (jobs.empty()) return;
  text.push_back(cat(jobs.size() == 1 ? "Job " : "Jobs ", list_text(jobs),
                     jobs.size() == 1 ? " is" : " are", " never moved: submitted without --move."));
}

void describe_could_move(const api::ExplanationBase& why, std::vector<std::string>& text) {
  if (why.could_move.empty()) return;
  const bool single = why.could_move.size() == 1;
  text.push_back(
      cat(single ? "Job " : "Jobs ", list_text(why.could_move), " could make room by moving, but ",
          single ? "does" : "do",
          " not allow it: services say so with --move replica when they are submitted."));
}

void describe_move_option(const api::UnblockingMoves& option, const std::string& condition,
                          std::vector<std::string>& text) {
  std::string steps;
  for (const api::ProposedMoveView& move : option.moves) {
    steps += cat(steps.empty() ? "" : ", then ", "job ", move.job, " from ",
                 place_text(move.from_gpu, move.from_start), " to ",
                 place_text(move.to_gpu, move.to_start));
  }
  text.push_back(cat("Moving ", steps, " would make room at ", place_text(option.gpu, option.start),
                     condition.empty() ? "" : cat(", ", condition), ". ", request_text(option)));
}

void describe_own_moves(const std::vector<api::UnblockingMoves>& unblocking_moves,
                        std::vector<std::string>& text) {
  const auto free = [](const api::UnblockingMoves& option) {
    return restraints_of(option).empty();
  };
  if (std::ranges::none_of(unblocking_moves, free)) return;
  text.emplace_back(
      "The scheduler on its own moves jobs only after others have left, to lower FragCost.");
}

std::string why_moved(const api::MoveRecordView& move) {
  if (move.kind == "asked") return "The move was requested by a user.";
  if (move.kind == "drain") return cat("GPU ", move.from_gpu, " was being drained.");
  if (!move.weighed) return cat("The reason of the move (", move.kind, ") is no longer recorded.");
  return cat("It was the best of ", *move.weighed, move.weighed == 1 ? " move" : " moves", " (",
             move.kind, "): the FragCost of GPU ", move.from_gpu, " went from ",
             fraction_text(*move.frag_before), " to ", fraction_text(*move.frag_after), ".");
}

}  // namespace tangram::daemon
