// See explanation_text.hpp.
#include "daemon/explanation_text.hpp"

#include <algorithm>
#include <map>

#include "base/text.hpp"

namespace tangram::daemon {
namespace {

std::vector<api::CandidateView> candidates_of(const core::ArrivalExplanation& from) {
  std::vector<api::CandidateView> views;
  for (const core::ExplainedCandidate& each : from.candidates) {
    views.push_back({.gpu = each.slot.gpu.value(),
                     .start = each.slot.start,
                     .busy = each.busy,
                     .frag_before = each.before.approximate(),
                     .frag_after = each.after.approximate()});
  }
  return views;
}

std::vector<api::ObstacleView> obstacles_of(const std::vector<core::GpuWithout>& from) {
  std::vector<api::ObstacleView> views;
  for (const core::GpuWithout& each : from) {
    views.push_back({.gpu = each.gpu.value(), .why = std::string(core::name_of(each.why))});
  }
  return views;
}

std::string decided_by(const core::ArrivalExplanation& from, const core::PlacementPolicy& policy) {
  return from.decided_by ? std::string(policy.criteria[*from.decided_by]) : "";
}

api::RoomView view_of(const core::Room& room, const core::Node& node) {
  api::RoomView view{.moves = {}, .gpu = room.slot.gpu.value(), .start = room.slot.start};
  for (const core::Move& move : room.moves) {
    const core::Replica& main = node.job(move.slot).main;
    const core::Entry* entry = node.find(main.gpu, main.instance);
    view.moves.push_back({.job = move.job.value(),
                          .from_gpu = move.from.value(),
                          .from_start = entry == nullptr ? 0U : entry->placement.start,
                          .to_gpu = move.to.gpu.value(),
                          .to_start = move.to.start});
  }
  return view;
}

template <class To>
void waiting_into(const core::WaitingExplanation& from, const core::Node& node, To& to) {
  to.obstacles = obstacles_of(from.without);
  for (const core::Room& room : from.moves_that_make_room) to.rooms.push_back(view_of(room, node));
  for (const core::JobId job : from.departures_that_make_room) to.departures.push_back(job.value());
  for (const core::ProfileName name : from.fits_now) to.fits_now.push_back(node.name(name));
}

template <class To>
void arrival_into(const core::ArrivalExplanation& from, const core::PlacementPolicy& policy,
                  To& to) {
  to.candidates = candidates_of(from);
  to.decided_by = decided_by(from, policy);
  to.obstacles = obstacles_of(from.without);
}

std::string place_text(std::uint32_t gpu, std::uint32_t start) {
  return cat("GPU ", gpu, " start ", start);
}

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

// GPUs with the same reason in one sentence.
void say_obstacles(const std::vector<api::ObstacleView>& obstacles,
                   std::vector<std::string>& text) {
  std::map<std::string, std::vector<std::uint32_t>> by_reason;
  for (const api::ObstacleView& each : obstacles) by_reason[each.why].push_back(each.gpu);
  for (const auto& [why, gpus] : by_reason) {
    text.push_back(cat(gpus.size() == 1 ? "GPU " : "GPUs ", list_text(gpus), ": ", why, "."));
  }
}

void say_ways_out(const std::vector<api::RoomView>& rooms,
                  const std::vector<std::uint64_t>& departures,
                  const std::vector<std::string>& fits_now, std::vector<std::string>& text) {
  if (!departures.empty()) {
    text.push_back(departures.size() == 1
                       ? cat("The end of job ", departures.front(), " would make room.")
                       : cat("The end of any one of these jobs would make room: ",
                             list_text(departures), "."));
  }
  for (const api::RoomView& room : rooms) {
    std::string steps;
    for (const api::MoveView& move : room.moves) {
      steps += cat(steps.empty() ? "" : ", then ", "job ", move.job, " from ",
                   place_text(move.from_gpu, move.from_start), " to ",
                   place_text(move.to_gpu, move.to_start));
    }
    text.push_back(
        cat("Moving ", steps, " would make room at ", place_text(room.gpu, room.start), "."));
  }
  text.push_back(fits_now.empty() ? "No profile fits now."
                                  : cat("Profiles that fit now: ", join_words(fits_now), "."));
}

std::string fraction_text(double cost) {
  const auto thousandths = static_cast<int>(cost * 1000 + 0.5);
  std::string digits = std::to_string(thousandths % 1000);
  digits.insert(0, 3 - digits.size(), '0');
  return cat(thousandths / 1000, ".", digits);
}

void say_choice(const std::vector<api::CandidateView>& candidates, const std::string& decided,
                std::vector<std::string>& text) {
  const api::CandidateView& winner = candidates.front();
  text.push_back(cat("The GPU was ", winner.busy ? "Busy" : "Lazy", "; its FragCost went from ",
                     fraction_text(winner.frag_before), " to ", fraction_text(winner.frag_after),
                     "."));
  if (candidates.size() == 1) {
    text.push_back("It was the only place there was.");
    return;
  }
  const api::CandidateView& next = candidates[1];
  const std::string rival =
      cat(place_text(next.gpu, next.start), " (", next.busy ? "Busy" : "Lazy", ", FragCost ",
          fraction_text(next.frag_before), " to ", fraction_text(next.frag_after), ")");
  text.push_back(decided.empty() ? cat("It was as good as ", rival, "; the lower number decided.")
                                 : cat("Of ", candidates.size(), " places the next best was ",
                                       rival, "; what decided was: ", decided, "."));
}

std::string hold_text(std::uint64_t job, std::uint8_t holds) {
  std::vector<std::string> causes;
  if ((holds & core::kHoldUser) != 0)
    causes.push_back(cat("it was asked for (`tangram release ", job, "` ends that)"));
  if ((holds & core::kHoldUnservable) != 0)
    causes.emplace_back("no GPU in service has its profile");
  if ((holds & core::kHoldLimit) != 0)
    causes.emplace_back("its user has as many slices as he may have");
  return cat("Job ", job, " is held: ", join_words(causes), ".");
}

}  // namespace

void add_arrival(const core::ArrivalExplanation& from, const core::PlacementPolicy& policy,
                 api::Explanation& to) {
  arrival_into(from, policy, to);
}

void add_arrival(const core::ArrivalExplanation& from, const core::PlacementPolicy& policy,
                 api::WhatIf& to) {
  arrival_into(from, policy, to);
}

void add_waiting(const core::WaitingExplanation& from, const core::Node& node,
                 api::Explanation& to) {
  waiting_into(from, node, to);
}

void add_waiting(const core::WaitingExplanation& from, const core::Node& node, api::WhatIf& to) {
  waiting_into(from, node, to);
}

void say_waiting(const core::JobExplanation& how, api::Explanation& explanation) {
  std::vector<std::string>& text = explanation.text;
  if (how.phase == core::JobPhase::kHeld) {
    text.push_back(hold_text(explanation.job, how.holds));
  } else if (explanation.ahead.empty()) {
    text.push_back(cat("Job ", explanation.job, " is the next; no GPU has room for a ",
                       explanation.profile, " now."));
  } else {
    text.push_back(cat("Job ", explanation.job, " waits behind ", explanation.ahead.size(),
                       explanation.ahead.size() == 1 ? " job" : " jobs", " (",
                       list_text(explanation.ahead), "); the queue is strict: they come first."));
  }
  if (!explanation.candidates.empty()) {
    const api::CandidateView& best = explanation.candidates.front();
    text.push_back(cat("There is room for it now, at ", place_text(best.gpu, best.start), "."));
    return;
  }
  say_obstacles(explanation.obstacles, text);
  say_ways_out(explanation.rooms, explanation.departures, explanation.fits_now, text);
  if (explanation.retry) {
    text.push_back(cat("A place that failed it may be tried again at ",
                       api::wall_text(*explanation.retry), "."));
  }
}

void say_placed(const std::string& place, api::Explanation& explanation) {
  std::vector<std::string>& text = explanation.text;
  text.push_back(cat("Job ", explanation.job, " (", explanation.profile, ") ", place, "."));
  if (explanation.candidates.empty()) return;
  const api::CandidateView& winner = explanation.candidates.front();
  text.push_back(cat("It was placed at ", place_text(winner.gpu, winner.start), " on ",
                     api::wall_text(*explanation.decided), "."));
  say_choice(explanation.candidates, explanation.decided_by, text);
  say_obstacles(explanation.obstacles, text);
}

void say_what_if(api::WhatIf& what_if, const std::string& beyond) {
  std::vector<std::string>& text = what_if.text;
  if (!beyond.empty()) {
    text.push_back(cat("A ", what_if.profile, " of yours would not start now: ", beyond, "."));
    return;
  }
  if (!what_if.candidates.empty()) {
    const api::CandidateView& best = what_if.candidates.front();
    const std::string place = place_text(best.gpu, best.start);
    text.push_back(what_if.starts_now
                       ? cat("A ", what_if.profile, " would start at once, at ", place, ".")
                       : cat("A ", what_if.profile, " would fit at ", place,
                             ", but it would wait behind ", what_if.ahead,
                             what_if.ahead == 1 ? " job" : " jobs", ": the queue is strict."));
    return;
  }
  text.push_back(cat("A ", what_if.profile, " would wait",
                     what_if.ahead == 0
                         ? ""
                         : cat(" behind ", what_if.ahead, what_if.ahead == 1 ? " job" : " jobs"),
                     ": no GPU has room for it now."));
  say_obstacles(what_if.obstacles, text);
  say_ways_out(what_if.rooms, what_if.departures, what_if.fits_now, text);
}

}  // namespace tangram::daemon
