// See explanation_text.hpp.
#include "daemon/explain/explanation_text.hpp"

#include <algorithm>
#include <map>
#include <ranges>

#include "base/text.hpp"
#include "core/explain.hpp"
#include "core/job.hpp"
#include "daemon/explain/explanation_phrases.hpp"

namespace tangram::daemon {
namespace {

// What to do about a GPU that takes no jobs.
std::string remedy(const std::string& why, const std::vector<std::uint32_t>& gpus) {
  std::string names;
  for (const std::uint32_t gpu : gpus) names += cat(' ', gpu);
  if (why == "cordoned")
    return cat("; `tangram uncordon", names, "` returns ", gpus.size() == 1 ? "it" : "them",
               " to service");
  if (why == "draining") return cat("; `tangram uncordon", names, "` cancels the drain");
  if (why == kMigIsOff) return "; `tangram node prepare` as root switches it on";
  const bool gone = why.starts_with("lost") || why.starts_with("unresponsive");
  return gone ? "; run `tangram device doctor`" : "";
}

std::string standing_text(const std::vector<api::FixedInstanceView>& standing) {
  std::vector<std::string> words;
  for (const api::FixedInstanceView& each : standing) {
    words.push_back(cat("a ", each.state, " ", each.profile, "@", each.start));
  }
  if (words.empty()) return "";
  return cat("; occupied by ", join_words(words));
}

// One sentence for all GPUs with the same reason.
void describe_obstacles(const std::vector<api::ObstacleView>& obstacles,
                        std::vector<std::string>& text) {
  std::map<std::pair<std::string, std::string>, std::vector<std::uint32_t>> by_reason;
  for (const api::ObstacleView& each : obstacles) {
    by_reason[{each.why, standing_text(each.standing)}].push_back(each.gpu);
  }
  for (const auto& [reason, gpus] : by_reason) {
    text.push_back(cat(gpus.size() == 1 ? "GPU " : "GPUs ", list_text(gpus), ": ", reason.first,
                       reason.second, remedy(reason.first, gpus), "."));
  }
}

// What will free a placement, what else would, and which profiles fit now. `condition`: what must
// also hold; empty for the queue head.
void describe_remedies(const api::ExplanationBase& why, const std::string& condition,
                       std::vector<std::string>& text) {
  std::vector<std::uint64_t> ends = why.departures;
  if (why.to_come) {
    text.push_back(cat(place_text(why.to_come->gpu, why.to_come->start), " becomes free once ",
                       named(why.to_come->jobs, why.leases),
                       why.to_come->jobs.size() == 1 ? " has left: it is" : " have left: they are",
                       " being stopped or moved away."));
    std::erase_if(ends, [&](std::uint64_t job) {
      return std::ranges::find(why.to_come->jobs, job) != why.to_come->jobs.end();
    });
  }
  const std::string room = condition.empty() ? "make room" : cat("make room for it, ", condition);
  if (ends.size() == 1) {
    text.push_back(cat("The end of ", named(ends, why.leases), " would ", room, "."));
  } else if (!ends.empty()) {
    const bool plain =
        std::ranges::none_of(ends, [&](std::uint64_t job) { return is_lease(job, why.leases); });
    text.push_back(cat("The end of any one of these", plain ? " jobs" : "", " would ", room, ": ",
                       plain ? list_text(ends) : named(ends, why.leases), "."));
  }
  describe_pinned(why, text);
  describe_could_move(why, text);
  for (const api::UnblockingMoves& each : why.unblocking_moves)
    describe_move_option(each, condition, text);
  describe_own_moves(why.unblocking_moves, text);
  text.push_back(
      why.fits_now.empty()
          ? "No profile fits now."
          : cat("Profiles that fit now (ignoring the queue): ", join_words(why.fits_now), "."));
}

// `criterion` is a name from policies/registry.cpp.
std::string decision_text(const std::string& criterion) {
  return criterion == "GPU" ? "Tie broken by lowest GPU index."
                            : cat("Decided by: ", criterion, ".");
}

void describe_choice(const api::ExplanationBase& why, std::vector<std::string>& text) {
  const api::CandidateView& winner = why.candidates.front();
  text.push_back(cat("The GPU was ", winner.busy ? "Busy" : "Lazy", "; its FragCost went from ",
                     fraction_text(winner.frag_before), " to ", fraction_text(winner.frag_after),
                     "."));
  if (why.candidates.size() == 1) {
    text.emplace_back("It was the only candidate.");
    return;
  }
  const api::CandidateView& next = why.candidates[1];
  const std::string rival =
      cat(place_text(next.gpu, next.start), " (", next.busy ? "Busy" : "Lazy", ", FragCost ",
          fraction_text(next.frag_before), " to ", fraction_text(next.frag_after), ")");
  text.push_back(why.decided_by.empty()
                     ? cat("It tied with ", rival, "; the lower index won.")
                     : cat("Of ", why.candidates.size(), " candidates the next best was ", rival,
                           ". ", decision_text(why.decided_by)));
}

std::string limit_text(const api::LimitView& limit) {
  const bool of_user = limit.group.empty();
  const std::string figures =
      cat(of_user ? "its user" : cat("group ", limit.group), " has ", limit.has, " of ", limit.most,
          " compute slices, and it needs ", limit.needs);
  if (!limit.behind) return figures;
  return cat(figures, "; job ", *limit.behind, " of the same ", of_user ? "user" : "group",
             " comes first");
}

std::string hold_text(std::uint8_t holds, const api::Explanation& e) {
  std::vector<std::string> causes;
  if ((holds & core::kHoldUser) != 0)
    causes.push_back(cat("its user holds it (`tangram release ", e.job, "` releases it)"));
  if ((holds & core::kHoldUnservable) != 0)
    causes.emplace_back("no GPU in service has its profile");
  if ((holds & core::kHoldLimit) != 0)
    causes.push_back(e.limit ? limit_text(*e.limit)
                             : "the limit of its user or group, which is about to release it");
  if ((holds & core::kHoldDependency) != 0)
    causes.push_back(e.waits_for.empty() ? "the jobs that it waits for have just ended"
                                         : cat("it waits for ", api::awaited_text(e.waits_for)));
  if ((holds & core::kHoldArray) != 0)
    causes.emplace_back("as many tasks of its array are active as may be");
  return cat(named_first(e.job, e.leases), " is held: ", join_words(causes), ".");
}

// Only its user's jobs matter; the GPUs matter once it is queued.
void describe_limit(api::Explanation& e) {
  if (e.limit->behind) {
    e.text.push_back(cat("For that job see `tangram explain ", *e.limit->behind, "`."));
  } else if (e.departures.empty()) {
    e.text.push_back(cat("Several jobs of its ", e.limit->group.empty() ? "user" : "group",
                         " must end before it is released."));
  } else {
    e.text.push_back(cat("The end of ", e.departures.size() == 1 ? "" : "any one of ",
                         named(e.departures, e.leases), " (same ",
                         e.limit->group.empty() ? "user" : "group", ") would release it."));
  }
}

bool is_backed_off(const std::vector<api::ObstacleView>& obstacles) {
  return std::ranges::any_of(obstacles, [](const api::ObstacleView& each) {
    return each.why == core::name_of(core::NoCandidate::kBackOff);
  });
}

std::string behind_text(const std::vector<std::uint64_t>& ahead,
                        const std::vector<std::uint64_t>& leases) {
  const bool plain =
      std::ranges::none_of(ahead, [&](std::uint64_t job) { return is_lease(job, leases); });
  if (!plain) return named(ahead, leases);
  return cat(ahead.size(), ahead.size() == 1 ? " job (" : " jobs (", list_text(ahead), ")");
}

std::string first_text(std::uint64_t first) {
  return cat("For the first of them see `tangram explain ", first, "`.");
}

// It would be refused or held; where it would be placed otherwise is added.
void describe_not_queued(api::WhatIf& w) {
  w.text.push_back(w.refused.empty()
                       ? cat("A ", w.profile, " would be held: ", w.held, ".")
                       : cat("A ", w.profile, " of yours would be rejected: ", w.refused));
  if (w.candidates.empty()) {
    describe_obstacles(w.obstacles, w.text);
    return;
  }
  const api::CandidateView& best = w.candidates.front();
  w.text.push_back(cat("Otherwise it would fit at ", place_text(best.gpu, best.start),
                       w.ahead == 0 ? "." : cat(", behind ", w.ahead, " queued.")));
}

constexpr const char* kIfElsewhere = "if those ahead of it start elsewhere";

}  // namespace

void describe_waiting(std::uint8_t holds, api::Explanation& e, core::Passing passing) {
  const bool held = e.state == api::JobState::kHeld;
  const std::string name = named_first(e.job, e.leases);
  if (held) {
    e.text.push_back(hold_text(holds, e));
    if (e.limit) {
      describe_limit(e);
      return;
    }
    if (!e.waits_for.empty()) {
      e.text.push_back(cat("See `tangram explain ", e.waits_for.front().job, "`."));
      return;
    }
    if (!e.ahead.empty()) {
      e.text.push_back(
          cat("If released now, it would be queued behind ", behind_text(e.ahead, e.leases), "."));
    }
  } else if (e.ahead.empty()) {
    e.text.push_back(
        is_backed_off(e.obstacles)
            ? cat(name, " is next in queue; it failed recently at the free placements.")
            : cat(name, " is next in queue: waiting for a free ", e.profile, "."));
  } else {
    e.text.push_back(cat(
        name, " is queued behind ", behind_text(e.ahead, e.leases),
        passing == core::Passing::kNone ? "; the queue is strict: " : " for the same GPU model: ",
        e.ahead.size() == 1 ? "it starts" : "they start", " first."));
  }
  if (!e.candidates.empty()) {
    const api::CandidateView& best = e.candidates.front();
    e.text.push_back(cat("There is room for it now, at ", place_text(best.gpu, best.start),
                         e.ahead.empty() ? "." : cat(", ", kIfElsewhere, ".")));
  } else {
    describe_obstacles(e.obstacles, e.text);
    describe_remedies(e, e.ahead.empty() ? "" : kIfElsewhere, e.text);
  }
  if (!e.ahead.empty()) e.text.push_back(first_text(e.ahead.front()));
  if (e.retry) {
    e.text.push_back(
        cat("Placements at which it failed are retried from ", api::wall_text(*e.retry), "."));
  }
}

void describe_start(const StartFacts& facts, api::Explanation& e) {
  if (e.expected_start) {
    const std::string after = e.expected_after
                                  ? cat(", when ", named({*e.expected_after}, e.leases),
                                        " reaches its time limit, or earlier")
                                  : ", or earlier";
    e.text.push_back(cat("Expected start: ", api::wall_text(*e.expected_start), after, "."));
  }
  if (facts.reserved) {
    e.text.push_back(cat(place_text(facts.gpu, facts.start), " is reserved for it from ",
                         api::wall_text(*facts.reserved), "."));
  } else if (e.ahead.empty()) {
    e.text.push_back(cat("Its start is not known, because something in its way has no time limit. ",
                         facts.passed, " of at most ", facts.max_passes,
                         " later jobs have started before it (max_passes)."));
  }
  if (facts.lost) {
    e.text.push_back(cat("Its reservation for ", api::wall_text(*facts.lost),
                         " was lost: that placement is out of service or in other use."));
  }
}

void describe_placed(const std::string& place, api::Explanation& e) {
  e.text.push_back(cat(named_first(e.job, e.leases), " (", e.profile, ") ", place, "."));
  if (e.candidates.empty()) return;
  const api::CandidateView& winner = e.candidates.front();
  e.text.push_back(cat("It was placed at ", place_text(winner.gpu, winner.start), " on ",
                       api::wall_text(*e.decided), "."));
  describe_choice(e, e.text);
  describe_obstacles(e.obstacles, e.text);
}

void describe_moves(api::Explanation& e) {
  const auto since = [&](const api::MoveRecordView& m) {
    return !e.decided || m.begun >= *e.decided;
  };
  const auto done = [&](const api::MoveRecordView& m) {
    return since(m) && (m.result == "done" || m.result == "taken-over");
  };
  const auto count = std::ranges::count_if(e.moves, done);
  const auto last = std::ranges::find_if(e.moves.rbegin(), e.moves.rend(), done);
  if (last != e.moves.rend()) {
    e.text.push_back(
        cat("It was moved since then", count == 1 ? "" : cat(", ", count, " times, last"), " on ",
            api::wall_text(last->begun), ", from ", place_text(last->from_gpu, last->from_start),
            " to ", place_text(last->to_gpu, last->to_start), "."));
    e.text.push_back(why_moved(*last));
  }
  if (!e.moves.empty() && e.moves.back().result.empty() && !e.moves.back().ended) {
    const api::MoveRecordView& now = e.moves.back();
    e.text.push_back(
        cat("It is being moved to ", place_text(now.to_gpu, now.to_start), " (", now.kind, ")."));
  }
}

void describe_what_if(api::WhatIf& w, core::Passing passing) {
  if (!w.refused.empty() || !w.held.empty()) {
    describe_not_queued(w);
    return;
  }
  const std::string behind = cat(w.ahead, w.ahead == 1 ? " job" : " jobs");
  if (!w.candidates.empty()) {
    const api::CandidateView& best = w.candidates.front();
    const std::string place = place_text(best.gpu, best.start);
    w.text.push_back(w.starts_now
                         ? cat("A ", w.profile, " would start at once, at ", place, ".")
                         : cat("A ", w.profile, " would fit at ", place,
                               ", but would be queued behind ", behind,
                               passing == core::Passing::kNone ? ": the queue is strict."
                                                               : " for the same GPU model."));
  } else {
    w.text.push_back(cat("A ", w.profile, " would be queued",
                         w.ahead == 0 ? "" : cat(" behind ", behind),
                         ": no placement is free for it now."));
    describe_obstacles(w.obstacles, w.text);
    describe_remedies(w, w.ahead == 0 ? "" : kIfElsewhere, w.text);
  }
  if (w.first && !w.starts_now) w.text.push_back(first_text(*w.first));
}

}  // namespace tangram::daemon
