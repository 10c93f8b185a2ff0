// See explanation_words.hpp.
#include "daemon/explanation_words.hpp"

#include <cmath>
#include <set>

namespace tangram::daemon {
namespace {

std::string restraint_text(const api::RestraintView& by, std::uint64_t job) {
  const std::string until = by.until ? api::wall_text(*by.until) : "";
  if (by.by == "migration") return "moves are switched off (migration = off)";
  if (by.by == "window") return cat("the window for moves opens at ", until);
  if (by.by == "cooldown")
    return cat("job ", job, " was moved lately (cooldown until ", until, ")");
  if (by.by == "most_moves") return "as many moves as most_moves allows are under way";
  return "it takes a place that the first waiting job could use (protect_head)";
}

// Each once.
std::vector<std::string> restraints_of(const api::RoomView& room) {
  std::vector<std::string> words;
  for (const api::MoveView& move : room.moves) {
    for (const api::RestraintView& by : move.restrained_by) {
      const std::string text = restraint_text(by, move.job);
      if (std::ranges::find(words, text) == words.end()) words.push_back(text);
    }
  }
  return words;
}

bool is_full(const api::RoomView& room) {
  return std::ranges::any_of(room.moves, [](const api::MoveView& move) {
    return std::ranges::any_of(move.restrained_by,
                               [](const api::RestraintView& by) { return by.by == "most_moves"; });
  });
}

std::string commands_of(const api::RoomView& room) {
  std::string text;
  for (const api::MoveView& move : room.moves) {
    text += cat(text.empty() ? "" : ", and when that is over ", "`tangram move ", move.job,
                " --to ", move.to_gpu, ":", move.to_start, "`");
  }
  return text;
}

// Whose jobs they are that the caller may not move.
std::string owners_of(const api::RoomView& room) {
  std::vector<std::string> words;
  std::set<std::string> users;
  for (const api::MoveView& move : room.moves) {
    if (!move.may && users.insert(move.user).second) words.push_back(move.user);
  }
  words.emplace_back("admins");
  return join_words(words);
}

std::string asking_text(const api::RoomView& room) {
  const bool may = std::ranges::all_of(room.moves, &api::MoveView::may);
  const std::string it = room.moves.size() == 1 ? "it" : "them";
  const std::vector<std::string> by = restraints_of(room);
  if (may && by.empty()) return cat("You may ask for ", it, ": ", commands_of(room), ".");
  if (may) {
    return cat("The scheduler is restrained: ", join_words(by), "; you, an admin, may ask for ", it,
               " all the same: ", commands_of(room), ".");
  }
  if (by.empty()) return cat("Only ", owners_of(room), " may ask for ", it, ".");
  return cat(is_full(room) ? "Nobody" : "Only an admin", " may ask for ", it,
             " now: ", join_words(by), ".");
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
  constexpr std::size_t kMost = 12;
  const bool plain =
      std::ranges::none_of(jobs, [&](std::uint64_t job) { return is_lease(job, leases); });
  if (plain) return cat(jobs.size() == 1 ? "job " : "jobs ", list_text(jobs));
  std::vector<std::string> words;
  for (const std::uint64_t job : jobs) {
    if (words.size() < kMost) words.push_back(cat(is_lease(job, leases) ? "lease " : "job ", job));
  }
  if (jobs.size() > kMost) words.push_back(cat(jobs.size() - kMost, " more"));
  return join_words(words);
}

std::string named_first(std::uint64_t job, const std::vector<std::uint64_t>& leases) {
  return cat(is_lease(job, leases) ? "Lease " : "Job ", job);
}

void say_pinned(const api::Why& why, std::vector<std::string>& text) {
  std::vector<std::uint64_t> jobs = why.pinned;
  std::erase_if(jobs, [&](std::uint64_t job) { return is_lease(job, why.leases); });
  if (jobs.empty()) return;
  text.push_back(cat(jobs.size() == 1 ? "Job " : "Jobs ", list_text(jobs),
                     jobs.size() == 1 ? " is" : " are",
                     " never moved: pinned, or submitted without --move."));
}

void say_room(const api::RoomView& room, const std::string& condition,
              std::vector<std::string>& text) {
  std::string steps;
  for (const api::MoveView& move : room.moves) {
    steps += cat(steps.empty() ? "" : ", then ", "job ", move.job, " from ",
                 place_text(move.from_gpu, move.from_start), " to ",
                 place_text(move.to_gpu, move.to_start));
  }
  text.push_back(cat("Moving ", steps, " would make room at ", place_text(room.gpu, room.start),
                     condition.empty() ? "" : cat(", ", condition), ". ", asking_text(room)));
}

void say_own_moves(const std::vector<api::RoomView>& rooms, std::vector<std::string>& text) {
  const auto free = [](const api::RoomView& room) { return restraints_of(room).empty(); };
  if (std::ranges::none_of(rooms, free)) return;
  text.emplace_back(
      "By itself the scheduler moves jobs only when others have left, to lower FragCost.");
}

std::string why_moved(const api::MovedView& move) {
  if (move.kind == "asked") return "That was asked for by hand.";
  if (move.kind == "drain") return cat("GPU ", move.from_gpu, " was being drained.");
  if (!move.weighed) return cat("Why it was moved (", move.kind, ") cannot be told any more.");
  return cat("It was the best of ", *move.weighed, move.weighed == 1 ? " move" : " moves", " (",
             move.kind, "): the FragCost of GPU ", move.from_gpu, " went from ",
             fraction_text(*move.frag_before), " to ", fraction_text(*move.frag_after), ".");
}

}  // namespace tangram::daemon
