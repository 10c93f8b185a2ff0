// See explanation_text.hpp.
#include "cli/client/explanation_text.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "cli/client/job_text.hpp"

namespace tangram::cli {
namespace {

constexpr std::size_t kMaxRows = 10;

void print_text(const std::vector<std::string>& sentences, Output& out) {
  for (const std::string& sentence : sentences) out.paragraph(terminal_safe(sentence));
}

// The compared slots. A single candidate is already part of the sentences.
void print_candidates(const std::vector<api::CandidateView>& candidates,
                      const std::string& decided_by, Output& out) {
  if (candidates.size() < 2) return;
  out.line();
  Table table({{"GPU@START", Align::kLeft, 2},
               {"CLASS"},
               {"FRAGCOST", Align::kRight},
               {"AFTER", Align::kRight},
               {""}});
  for (std::size_t i = 0; i < candidates.size() && i < kMaxRows; ++i) {
    const api::CandidateView& c = candidates[i];
    table.row(
        {Cell(cat(c.gpu, '@', c.start), i == 0 ? Style::kBold : Style::kPlain),
         c.busy ? "Busy" : "Lazy", fmt::format("{:.3f}", c.frag_before),
         fmt::format("{:.3f}", c.frag_after),
         Cell(i == 0 ? cat("chosen", decided_by.empty() ? "" : ": ", terminal_safe(decided_by))
                     : std::string(),
              Style::kGood)});
  }
  table.print(out);
  if (candidates.size() > kMaxRows) {
    out.line(cat("  and ", candidates.size() - kMaxRows, " more; --json has all"));
  }
}

// The reason, and the instances that are in the way.
std::string why_text(const api::ObstacleView& o) {
  std::string text = o.why;
  for (const api::FixedInstanceView& s : o.standing) {
    text += cat("; ", s.state, " ", s.profile, "@", s.start);
  }
  return terminal_safe(text);
}

// Why the other GPUs have no candidate. Printed only if some GPU has one: otherwise the sentences
// say it.
void print_obstacles(const std::vector<api::ObstacleView>& obstacles, Output& out) {
  out.line();
  Table table({{"GPU", Align::kRight, 2}, {"WHY NOT"}});
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
  out.line(cat(out.paint(cat("job ", e.job), Style::kBold), "  ", terminal_safe(e.profile), "  ",
               name_of(e.state), out.paint(when, Style::kDim)));
  print_text(e.text, out);
  print_candidates(e.candidates, e.decided_by, out);
  if (!e.candidates.empty() && !e.obstacles.empty()) print_obstacles(e.obstacles, out);
}

void print(const api::WhatIf& w, Output& out) {
  const auto outcome = [&] {
    if (!w.refused.empty()) return out.paint("would be rejected", Style::kBad);
    if (!w.held.empty()) return out.paint("would be held", Style::kYellow);
    if (w.starts_now) return out.paint("would start now", Style::kGood);
    return out.paint("would wait", Style::kYellow);
  };
  out.line(cat(out.paint(terminal_safe(w.profile), Style::kBold), "  ", outcome()));
  print_text(w.text, out);
  if (!w.refused.empty() || !w.held.empty()) return;
  print_candidates(w.candidates, w.decided_by, out);
  if (!w.candidates.empty() && !w.obstacles.empty()) print_obstacles(w.obstacles, out);
}

}  // namespace tangram::cli
