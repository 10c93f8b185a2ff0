// See explanation_text.hpp.
#include "cli/explanation_text.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "cli/job_text.hpp"

namespace tangram::cli {
namespace {

constexpr std::size_t kMostRows = 10;

void print_text(const std::vector<std::string>& sentences, Output& out) {
  for (const std::string& sentence : sentences) out.paragraph(harmless(sentence));
}

// The slots that were compared; one alone is in the sentences already.
void print_candidates(const std::vector<api::CandidateView>& candidates,
                      const std::string& decided_by, Output& out) {
  if (candidates.size() < 2) return;
  out.line();
  Table table({{"GPU@START", Align::kLeft, 2},
               {"CLASS"},
               {"FRAGCOST", Align::kRight},
               {"AFTER", Align::kRight},
               {""}});
  for (std::size_t i = 0; i < candidates.size() && i < kMostRows; ++i) {
    const api::CandidateView& c = candidates[i];
    table.row({Cell(cat(c.gpu, '@', c.start), i == 0 ? Style::kBold : Style::kPlain),
               c.busy ? "Busy" : "Lazy", fmt::format("{:.3f}", c.frag_before),
               fmt::format("{:.3f}", c.frag_after),
               Cell(i == 0 ? cat("chosen", decided_by.empty() ? "" : ": ", harmless(decided_by))
                           : std::string(),
                    Style::kGood)});
  }
  table.print(out);
  if (candidates.size() > kMostRows) {
    out.line(cat("  and ", candidates.size() - kMostRows, " more; --json has all"));
  }
}

// What is there beside what was said of it.
std::string why_text(const api::ObstacleView& o) {
  std::string text = o.why;
  for (const api::StandingView& s : o.standing) {
    text += cat("; ", s.state, " ", s.profile, "@", s.start);
  }
  return harmless(text);
}

// Why the other GPUs were not compared; of one that has no candidate at all the sentences tell it.
void print_obstacles(const std::vector<api::ObstacleView>& obstacles, Output& out) {
  out.line();
  Table table({{"GPU", Align::kRight, 2}, {"NO SLOT BECAUSE"}});
  for (const api::ObstacleView& o : obstacles) {
    table.row({std::to_string(o.gpu), why_text(o)});
  }
  table.print(out);
}

}  // namespace

void print(const api::Explanation& e, Output& out) {
  const std::string when =
      e.decided ? cat("  decided ", local_text(*e.decided), e.step ? cat(", step ", *e.step) : "")
                : "";
  out.line(cat(out.paint(cat("job ", e.job), Style::kBold), "  ", harmless(e.profile), "  ",
               name_of(e.state), out.paint(when, Style::kDim)));
  print_text(e.text, out);
  print_candidates(e.candidates, e.decided_by, out);
  if (!e.candidates.empty() && !e.obstacles.empty()) print_obstacles(e.obstacles, out);
}

void print(const api::WhatIf& w, Output& out) {
  const std::string fate = !w.refused.empty() ? out.paint("would be refused", Style::kBad)
                           : !w.held.empty()  ? out.paint("would be held", Style::kYellow)
                           : w.starts_now     ? out.paint("would start now", Style::kGood)
                                              : out.paint("would wait", Style::kYellow);
  out.line(cat(out.paint(harmless(w.profile), Style::kBold), "  ", fate));
  print_text(w.text, out);
  if (!w.refused.empty() || !w.held.empty()) return;
  print_candidates(w.candidates, w.decided_by, out);
  if (!w.candidates.empty() && !w.obstacles.empty()) print_obstacles(w.obstacles, out);
}

}  // namespace tangram::cli
