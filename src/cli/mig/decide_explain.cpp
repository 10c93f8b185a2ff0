// See decide_explain.hpp.
#include "cli/mig/decide_explain.hpp"

#include <algorithm>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "base/text.hpp"
#include "cli/mig/mig_terms.hpp"
#include "core/candidates.hpp"
#include "core/explain.hpp"
#include "core/snapshot.hpp"
#include "core/transcript.hpp"
#include "policies/explain_move.hpp"
#include "text/json_text.hpp"

namespace tangram::cli {
namespace {

namespace json = boost::json;

std::string_view class_name(bool busy) { return busy ? "Busy" : "Lazy"; }

std::string place_text(const core::Slot& slot) {
  return cat("GPU ", slot.gpu.value(), " start ", slot.start);
}

constexpr std::uint32_t kMaxLines = 16;

void print_gpus(const core::Node& node, Output& out) {
  for (std::uint32_t g = 0; g < std::min(kMaxLines, node.gpu_count()); ++g) {
    out.line("  " + core::gpu_line(node, core::GpuId(g)));
  }
  if (node.gpu_count() > kMaxLines) {
    out.line(cat("  … and ", node.gpu_count() - kMaxLines, " more GPUs"));
  }
  out.line();
}

json::object candidate_json(const core::ExplainedCandidate& c, std::size_t parts) {
  json::object object = slot_json(c.slot).as_object();
  object["class"] = json::string(class_name(c.busy));
  add_cost(object, c.after);
  object["cost_before"] = c.before.fraction();
  json::array key;
  for (std::size_t i = 0; i < parts; ++i) key.push_back(c.key[i]);
  object["key"] = std::move(key);
  return object;
}

json::array without_json(const std::vector<core::GpuWithout>& without) {
  json::array rows;
  for (const core::GpuWithout& w : without) {
    rows.push_back(
        json::object{{"gpu", w.gpu.value()}, {"why", json::string(core::name_of(w.why))}});
  }
  return rows;
}

json::object waiting_json(const core::Node& node, const core::WaitingExplanation& waiting) {
  json::array options;
  for (const core::UnblockingMoves& room : waiting.moves_that_make_room) {
    json::array moves;
    for (const core::Move& move : room.moves) moves.push_back(move_json(move));
    options.push_back(json::object{{"moves", std::move(moves)}, {"then", slot_json(room.slot)}});
  }
  json::array departures;
  for (const core::JobId job : waiting.departures_that_make_room) departures.push_back(job.value());
  json::array fits;
  for (const core::ProfileName name : waiting.fits_now)
    fits.push_back(json::string(node.name(name)));
  return {{"moves_that_make_room", std::move(options)},
          {"departures_that_make_room", std::move(departures)},
          {"fits_now", std::move(fits)}};
}

void print_candidates(const core::ArrivalExplanation& explained, Output& out) {
  constexpr std::size_t kMaxShown = kMaxLines;
  Table table({{"  GPU", Align::kRight},
               {"START", Align::kRight},
               {"CLASS"},
               {"FRAGCOST AFTER"},
               {"BEFORE"},
               {"REUSE"},
               {""}});
  for (std::size_t i = 0; i < std::min(kMaxShown, explained.candidates.size()); ++i) {
    const core::ExplainedCandidate& c = explained.candidates[i];
    const Style style = i == 0 ? Style::kGood : Style::kPlain;
    table.row({Cell(std::to_string(c.slot.gpu.value()), style),
               Cell(std::to_string(c.slot.start), style),
               Cell(std::string(class_name(c.busy)), style), Cell(cost_text(c.after), style),
               Cell(c.before.fraction(), style), Cell(c.slot.reuse ? "yes" : "no", style),
               Cell(i == 0 ? std::string(out.sign("◀ chosen", "<- chosen")) : "", style)});
  }
  table.print(out);
  if (explained.candidates.size() > kMaxShown) {
    out.line(cat("  … and ", explained.candidates.size() - kMaxShown, " more"));
  }
}

void print_without(const std::vector<core::GpuWithout>& without, Output& out) {
  for (std::size_t i = 0; i < std::min<std::size_t>(kMaxLines, without.size()); ++i) {
    out.line(cat("  GPU ", without[i].gpu.value(), ": ", core::name_of(without[i].why)));
  }
  if (without.size() > kMaxLines) {
    out.line(cat("  … and ", without.size() - kMaxLines, " more GPUs without a slot"));
  }
}

// The value of the deciding criterion, in words.
std::string deciding_value(const core::PlacementPolicy& policy,
                           const core::ArrivalExplanation& explained, std::size_t candidate) {
  const std::size_t part = *explained.decided_by;
  const core::ExplainedCandidate& c = explained.candidates[candidate];
  const std::string_view name = policy.criteria[part];
  if (name == "FragCost after") return c.after.fraction();
  if (name.starts_with("class")) return std::string(class_name(c.busy));
  if (name == "reuse") return c.slot.reuse ? "yes" : "no";
  return std::to_string(c.key[part] < 0 ? -c.key[part] : c.key[part]);
}

void print_winner(const core::ArrivalExplanation& explained, const core::PlacementPolicy& policy,
                  const std::string& profile, Output& out) {
  const core::Slot winner = *explained.winner();
  out.line();
  out.line(cat("  The ", profile, " goes to ", out.paint(place_text(winner), Style::kGood),
               winner.reuse ? ", reusing the idle instance there." : "."));
  if (explained.decided_by) {
    out.line(cat("  Decided by: ", policy.criteria[*explained.decided_by], " (",
                 deciding_value(policy, explained, 0), " against ",
                 deciding_value(policy, explained, 1), " of ",
                 place_text(explained.candidates[1].slot), ")."));
  } else {
    out.line("  It is the only candidate.");
  }
}

void print_waiting(const core::Node& node, const core::WaitingExplanation& waiting,
                   const std::string& profile, Output& out) {
  out.line(
      cat("  No free slot for a ", profile, ": it would ", out.paint("wait", Style::kBad), "."));
  out.line();
  print_without(waiting.without, out);
  out.line();
  for (const core::UnblockingMoves& room : waiting.moves_that_make_room) {
    std::string steps;
    for (const core::Move& move : room.moves) {
      steps += cat(steps.empty() ? "" : ", then ", "job ", move.job.value(), " to ",
                   place_text(move.to));
    }
    out.line(cat("  Moving ", steps, " would make room on ", place_text(room.slot), "."));
  }
  std::vector<std::string> jobs;
  for (const core::JobId job : waiting.departures_that_make_room) {
    jobs.push_back(std::to_string(job.value()));
  }
  if (!jobs.empty()) {
    out.paragraph(cat("The end of any one of these jobs would make room: ", join_words(jobs), "."));
  }
  std::vector<std::string> fits;
  for (const core::ProfileName name : waiting.fits_now) fits.push_back(node.name(name));
  out.paragraph(cat("Profiles that fit now: ", join_words(fits), "."));
}

std::string kind_text(const policies::ExplainedMove& m) {
  const core::Move& move = m.move;
  std::string text =
      cat("job ", move.job.value(), " from GPU ", move.from.value(), " to ", place_text(move.to),
          " (", core::name_of(move.kind), "): FragCost of GPU ", move.from.value(), " ",
          m.before.fraction(), " becomes ", m.after.fraction());
  if (move.kind == core::MoveKind::kInter) {
    text += cat(", of GPU ", move.to.gpu.value(), " ", m.target_after.fraction());
  }
  return text;
}

json::object move_candidate_json(const policies::ExplainedMove& m) {
  json::object object = move_json(m.move).as_object();
  object["kind"] = json::string(core::name_of(m.move.kind));
  object["cost_before"] = m.before.fraction();
  object["cost_after"] = m.after.fraction();
  object["target_cost_after"] = m.target_after.fraction();
  return object;
}

// One planning step: the chosen move, or why there is none.
std::string step_text(const core::Node& node, core::GpuId gpu,
                      const policies::MoveExplanation& explained,
                      const std::optional<core::Move>& move) {
  const std::string prefix = cat("GPU ", gpu.value(), " is ", class_name(explained.busy), ": ");
  for (const policies::ExplainedMove& m : explained.candidates) {
    if (move && m.move == *move) {
      return cat(prefix, kind_text(m), ", the best of ", explained.candidates.size(), ".");
    }
  }
  if (!node.gpu(gpu).takes_jobs()) return cat(prefix, "out of service, no moves to it.");
  if (!explained.candidates.empty()) {
    return cat(prefix, "this migration policy makes none of the ", explained.candidates.size(),
               " possible move", explained.candidates.size() == 1 ? "" : "s", ".");
  }
  return cat(prefix, explained.busy
                         ? "no movable job on it could lower its FragCost by moving."
                         : "no movable job of a Busy GPU fits here such that its GPU stays the "
                           "more loaded one.");
}

}  // namespace

json::value slot_json(const core::Slot& slot) {
  return json::object{
      {"gpu", slot.gpu.value()}, {"start", static_cast<int>(slot.start)}, {"reuse", slot.reuse}};
}

json::value move_json(const core::Move& move) {
  return json::object{{"job", move.job.value()},
                      {"source", move.from.value()},
                      {"gpu", move.to.gpu.value()},
                      {"start", static_cast<int>(move.to.start)}};
}

Result<core::ProfileName> profile_of(const core::Node& node, const std::string& profile) {
  if (const auto name = node.find_name(profile)) return *name;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < node.name_count(); ++i) {
    names.push_back(node.name(core::ProfileName(static_cast<std::uint16_t>(i))));
  }
  const auto near = mig::nearest_profile(profile, names);
  return not_found(cat("no GPU of this state has a profile ", tangram::quoted(profile),
                       near ? cat("; did you mean ", *near, "?") : std::string("."),
                       " There are: ", join_words(names), "."));
}

Result<void> explain_arrival(const core::Node& node, const Question& question,
                             const core::Policies& policies, bool as_json, Output& out) {
  const auto name = profile_of(node, question.profile);
  if (!name) return std::unexpected(name.error());
  const core::PlacementPolicy& policy = *policies.placement;
  const core::Request request{.profile = *name};
  const core::ArrivalExplanation explained = core::explain_arrival(node, policy, request);
  const bool waits = explained.candidates.empty();
  if (as_json) {
    json::object result{{"decision", waits ? json::value(nullptr) : slot_json(*explained.winner())},
                        {"policy", json::string(policy.name)}};
    json::array candidates;
    for (const auto& c : explained.candidates)
      candidates.push_back(candidate_json(c, policy.criteria.size()));
    result["candidates"] = std::move(candidates);
    result["decided_by"] = explained.decided_by
                               ? json::value(json::string(policy.criteria[*explained.decided_by]))
                               : json::value(nullptr);
    result["without"] = without_json(explained.without);
    result["waiting"] =
        waits ? json::value(waiting_json(node, core::explain_waiting(node, policy, request)))
              : json::value(nullptr);
    out.add(text::json_text(result));
    return {};
  }
  out.line(cat("A ", out.paint(question.profile, Style::kBold), " arrives; policy ", policy.name,
               ", threshold ", node.tuning().threshold.text()));
  out.line();
  print_gpus(node, out);
  if (waits) {
    print_waiting(node, core::explain_waiting(node, policy, request), question.profile, out);
    return {};
  }
  print_candidates(explained, out);
  print_winner(explained, policy, question.profile, out);
  if (!explained.without.empty()) {
    out.line();
    print_without(explained.without, out);
  }
  return {};
}

Result<void> explain_departure(core::Node& node, const Question& question,
                               const core::Policies& policies, bool as_json, Output& out) {
  const core::GpuId gpu = question.gpu;
  json::array steps;
  if (!as_json) {
    out.line(cat("A job has left GPU ", out.paint(std::to_string(gpu.value()), Style::kBold),
                 "; migration ", policies.migration->name, ", threshold ",
                 node.tuning().threshold.text()));
    out.line();
    print_gpus(node, out);
  }
  for (int step = 1;; ++step) {
    const policies::MoveExplanation explained = policies::explain_move(node, gpu);
    const auto move = policies.migration->next_move(node, gpu).move;
    if (as_json) {
      json::array candidates;
      for (const auto& m : explained.candidates) candidates.push_back(move_candidate_json(m));
      steps.push_back(json::object{{"class", json::string(class_name(explained.busy))},
                                   {"move", move ? move_json(*move) : json::value(nullptr)},
                                   {"candidates", std::move(candidates)}});
    } else {
      out.line(cat("  ", step, ". ", step_text(node, gpu, explained, move)));
    }
    if (!move) break;
    core::apply_at_once(node, *move);
  }
  if (as_json) {
    json::array moves;
    for (const json::value& s : steps) {
      if (!s.at("move").is_null()) moves.push_back(s.at("move"));
    }
    out.add(
        text::json_text(json::object{{"decision", std::move(moves)}, {"steps", std::move(steps)}}));
  } else {
    out.line();
    print_gpus(node, out);
  }
  return {};
}

}  // namespace tangram::cli
