// See top_view.hpp.
#include "cli/top/top_view.hpp"

#include <algorithm>
#include <array>
#include <tuple>

#include <fmt/format.h>

#include "base/text.hpp"
#include "cli/client/job_text.hpp"

namespace tangram::cli {
namespace {

constexpr std::array<std::string_view, kTopSorts> kSortNames = {"job",   "user", "profile",
                                                                "state", "time", "place"};

std::string fitted(std::string text, int width) {
  text.resize(text.size() + static_cast<std::size_t>(std::max(0, width - width_of(text))), ' ');
  while (width_of(text) > width) {
    std::size_t last = text.size() - 1;
    while (last > 0 && (static_cast<unsigned char>(text[last]) & 0xC0U) == 0x80U) --last;
    text.erase(last);
  }
  return text;
}

std::chrono::microseconds time_of(const api::JobView& job, api::WallTime now) {
  return now - job.started.value_or(job.submitted);
}

bool before(const api::JobView& a, const api::JobView& b, TopSort sort, api::WallTime now) {
  switch (sort) {
    case TopSort::kId:
      break;
    case TopSort::kUser:
      return std::tie(a.user, a.id) < std::tie(b.user, b.id);
    case TopSort::kProfile:
      return std::tie(a.profile, a.id) < std::tie(b.profile, b.id);
    case TopSort::kState:
      return std::tuple(-static_cast<int>(a.state), a.id) <
             std::tuple(-static_cast<int>(b.state), b.id);
    case TopSort::kTime:
      return std::tuple(-time_of(a, now), a.id) < std::tuple(-time_of(b, now), b.id);
    case TopSort::kPlace:
      return std::tuple(!a.gpu, a.gpu, a.start, a.id) < std::tuple(!b.gpu, b.gpu, b.start, b.id);
  }
  return a.id < b.id;
}

bool matches(const api::JobView& job, const std::string& filter) {
  if (filter.empty()) return true;
  const auto has = [&](std::string_view text) { return text.find(filter) != text.npos; };
  return has(std::to_string(job.id)) || has(job.request.name) || has(job.user) ||
         has(job.profile) || has(name_of(job.state));
}

class View {
 public:
  View(const TopSnapshot& snapshot, const TopState& state, TopSize size, const Output& out)
      : snapshot_(snapshot), state_(state), size_(size), out_(out) {}

  std::vector<TopLine> draw() {
    header();
    strips();
    add({{""}});
    if (state_.help) {
      help();
    } else if (!state_.panel.empty()) {
      panel();
    } else {
      jobs();
    }
    footer();
    return std::move(lines_);
  }

 private:
  void add(std::vector<StyledText> pieces, bool selected = false) {
    lines_.push_back({std::move(pieces), selected});
  }
  [[nodiscard]] std::size_t body_rows() const {
    const auto used = static_cast<int>(lines_.size()) + 1;  // and the footer
    return static_cast<std::size_t>(std::max(0, size_.rows - used));
  }

  void header() {
    const api::StatusView& s = snapshot_.status;
    constexpr std::size_t kDate = 11;  // "2026-11-16 ": the time of day is enough
    const std::string when =
        snapshot_.taken == api::WallTime{} ? "" : local_text(snapshot_.taken).substr(kDate);
    add({{cat("tangramd ", terminal_safe(s.version)), Style::kBold},
         {cat("  ", s.gpus, " GPUs", s.emulated ? " (emulated)" : "", "  ", s.running, " running  ",
              s.queued, " queued  ", s.held, " held  ")},
         {when, Style::kDim},
         {state_.paused ? "  paused" : "", Style::kYellow}});
    if (!snapshot_.trouble.empty()) {
      add({{cat("reconnecting: ", terminal_safe(snapshot_.trouble)), Style::kBad}});
      return;
    }
    const auto cost = snapshot_.frag_cost();
    const auto width = static_cast<std::size_t>(std::clamp(size_.columns - 40, 10, 60));
    add({{cost ? fmt::format("FragCost {:.3f} ", *cost) : "FragCost - "},
         {state_.history.line(width, out_.utf8()), Style::kCyan}});
  }

  // One line per GPU, as long as there is space for some jobs.
  void strips() {
    constexpr int kLeft = 10;
    const auto most = static_cast<std::size_t>(std::max(1, size_.rows - 11));
    const std::size_t shown = snapshot_.gpus.size() <= most ? snapshot_.gpus.size() : most - 1;
    for (std::size_t i = 0; i < shown; ++i) {
      const api::GpuView& gpu = snapshot_.gpus[i];
      std::vector<StyledText> pieces = {{fmt::format("{:>3} ", gpu.index), Style::kBold},
                                        state_piece(gpu)};
      if (gpu.memory_slices > 0) {
        for (StyledText& piece : slice_pieces(out_, gpu, size_.columns - kLeft)) {
          pieces.push_back(std::move(piece));
        }
      } else {
        pieces.push_back({terminal_safe(gpu.trouble), Style::kBad});
      }
      add(std::move(pieces));
    }
    if (shown < snapshot_.gpus.size()) {
      add({{cat("    and ", snapshot_.gpus.size() - shown, " more GPUs; see `tangram gpus`"),
            Style::kDim}});
    }
  }
  static StyledText state_piece(const api::GpuView& gpu) {
    if (gpu.health == "mig-off") return {"no MIG", Style::kBad};
    if (gpu.health != "ok") return {"lost  ", Style::kBad};
    if (gpu.draining) return {"drain ", Style::kYellow};
    if (gpu.cordoned) return {"cord. ", Style::kYellow};
    return gpu.busy ? StyledText{"Busy  ", Style::kYellow} : StyledText{"Lazy  ", Style::kGood};
  }

  void jobs() {
    const auto list = listed_jobs(snapshot_, state_);
    add({{row({"JOB", "NAME", "USER", "PROFILE", "STATE", "TIME", "GPU@START"}, "REASON"),
          Style::kDim}});
    const std::size_t note = snapshot_.left_out > 0 && body_rows() > 1 ? 1 : 0;
    const std::size_t rows = body_rows() - note;
    const auto at = std::ranges::find(list, state_.selected, &api::JobView::id);
    const auto selected = static_cast<std::size_t>(at == list.end() ? 0 : at - list.begin());
    const std::size_t first = selected >= rows && rows > 0 ? selected - rows + 1 : 0;
    for (std::size_t i = first; i < list.size() && i < first + rows; ++i) {
      const api::JobView& job = *list[i];
      const Cell cell = state_cell(job);
      add({{row({std::to_string(job.id), terminal_safe(job.request.name), terminal_safe(job.user),
                 job.profile, cell.text, age_text(time_of(job, snapshot_.taken)), place_text(job)},
                terminal_safe(job.reason)),
            cell.style}},
          job.id == state_.selected);
    }
    if (list.empty()) add({{state_.filter.empty() ? "no jobs" : "no job matches", Style::kDim}});
    if (note == 0) return;
    add({{cat("       and ", snapshot_.left_out, " more jobs; see `tangram ps`"), Style::kDim}});
  }
  static std::string row(const std::array<std::string, 7>& cells, const std::string& last) {
    constexpr std::array<int, 7> kWidths = {6, 14, 10, 11, 10, 7, 9};
    std::string text;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const bool right = i == 0 || i == 5;
      const std::string cell = fitted(cells[i], kWidths[i]);
      text +=
          right ? fitted(std::string(
                             static_cast<std::size_t>(std::max(0, kWidths[i] - width_of(cells[i]))),
                             ' ') +
                             cells[i],
                         kWidths[i])
                : cell;
      text += ' ';
    }
    return text + last;
  }

  void panel() {
    std::vector<std::string_view> text;
    for (std::string_view rest = state_.panel; !rest.empty();) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      text.push_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    const std::size_t rows = body_rows();
    const std::size_t last = text.size() > rows ? text.size() - rows : 0;
    const std::size_t first = std::min(state_.panel_line, last);
    for (std::size_t i = first; i < text.size() && i < first + rows; ++i) {
      add({{std::string(text[i])}});
    }
  }

  void help() {
    for (const char* line :
         {"up, down    select a job (also k and j; page keys, home, end)",
          "s           sort by the next column",
          "/           filter by number, name, user, profile, state",
          "c           cancel the selected job, after confirmation",
          "e           explain the selected job", "p           pause updates",
          "q           quit; esc closes a panel", "",
          "A strip is a GPU with its jobs; idle instances can be destroyed to make space."}) {
      if (body_rows() > 0) add({{line}});
    }
  }

  void footer() {
    lines_.resize(static_cast<std::size_t>(std::max(0, size_.rows - 1)));
    add({footer_piece()});
  }
  [[nodiscard]] StyledText footer_piece() const {
    if (state_.confirming) return {cat("cancel job ", *state_.confirming, "? y/n"), Style::kYellow};
    if (state_.editing_filter)
      return {cat("filter: ", terminal_safe(state_.filter), "_"), Style::kYellow};
    if (!state_.message.empty()) return {terminal_safe(state_.message), Style::kYellow};
    if (!state_.panel.empty()) return {"up, down scroll  esc back  q quit", Style::kDim};
    return {cat("q quit  s sort: ", name_of(state_.sort), "  / filter",
                state_.filter.empty() ? "" : ": ", terminal_safe(state_.filter),
                "  c cancel  e explain  p pause  ? help"),
            Style::kDim};
  }

  const TopSnapshot& snapshot_;
  const TopState& state_;
  TopSize size_;
  const Output& out_;
  std::vector<TopLine> lines_;
};

}  // namespace

std::string_view name_of(TopSort sort) { return kSortNames[static_cast<std::size_t>(sort)]; }

void FragHistory::add(api::WallTime when, double cost) {
  if (costs_.empty() || when >= span_ + kSpan || when < span_) {
    costs_.push_back(cost);
    span_ = when;
  } else {
    costs_.back() = std::max(costs_.back(), cost);
  }
  if (costs_.size() > kMax) costs_.pop_front();
}

// Scaled to the highest shown value, but at least 0.25, so that small changes stay small.
std::string FragHistory::line(std::size_t width, bool utf8) const {
  constexpr std::array<std::string_view, 8> kBars = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::array<std::string_view, 8> kAscii = {"_", ".", ":", "-", "=", "+", "*", "#"};
  const std::size_t first = costs_.size() > width ? costs_.size() - width : 0;
  double highest = 0.25;
  for (std::size_t i = first; i < costs_.size(); ++i) highest = std::max(highest, costs_[i]);
  std::string text;
  for (std::size_t i = first; i < costs_.size(); ++i) {
    const double part = std::clamp(costs_[i] / highest, 0.0, 1.0);
    const auto level = static_cast<std::size_t>(part * 7.0 + 0.5);
    text += utf8 ? kBars[level] : kAscii[level];
  }
  return text;
}

std::vector<const api::JobView*> listed_jobs(const TopSnapshot& snapshot, const TopState& state) {
  std::vector<const api::JobView*> list;
  for (const api::JobView& job : snapshot.jobs) {
    if (matches(job, state.filter)) list.push_back(&job);
  }
  std::ranges::sort(list, [&](const api::JobView* a, const api::JobView* b) {
    return before(*a, *b, state.sort, snapshot.taken);
  });
  return list;
}

std::vector<TopLine> draw(const TopSnapshot& snapshot, const TopState& state, TopSize size,
                          const Output& out) {
  return View(snapshot, state, size, out).draw();
}

}  // namespace tangram::cli
