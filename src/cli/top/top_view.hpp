// The view of `tangram top` as lines of styled text: header, one strip per GPU, the jobs, and open
// panels. Pure: the same snapshot, state and size give the same lines, so it is tested without a
// terminal.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "cli/client/slice_map.hpp"
#include "cli/top/top_feed.hpp"

namespace tangram::cli {

enum class TopSort : std::uint8_t { kId, kUser, kProfile, kState, kTime, kPlace };
inline constexpr int kTopSorts = 6;
[[nodiscard]] std::string_view name_of(TopSort sort);

// FragCost of the last ten minutes: the highest value of each 5 s.
class FragHistory {
 public:
  void add(api::WallTime when, double cost);
  // The newest values as bars, at most `width`.
  [[nodiscard]] std::string line(std::size_t width, bool utf8) const;

 private:
  static constexpr std::chrono::seconds kSpan{5};
  static constexpr std::size_t kMax = 120;
  std::deque<double> costs_;  // one per span
  api::WallTime span_{};      // start of the last span
};

struct TopState {
  TopSort sort = TopSort::kId;
  std::string filter;
  bool editing_filter = false;
  bool paused = false;
  bool help = false;
  std::uint64_t selected = 0;               // a job; 0: none
  std::optional<std::uint64_t> confirming;  // the job to cancel after confirmation
  std::string panel;                        // lines of an explanation; empty: closed
  std::size_t panel_line = 0;               // the first line shown
  std::string message;                      // the result of the last action
  FragHistory history;
};

struct TopLine {
  std::vector<StyledText> pieces;
  bool selected = false;
};

struct TopSize {
  int rows = 24;
  int columns = 80;
};

// The jobs in display order: filtered by number, name, user, profile or state, and sorted.
[[nodiscard]] std::vector<const api::JobView*> listed_jobs(const TopSnapshot& snapshot,
                                                           const TopState& state);
// Returns at most size.rows lines.
[[nodiscard]] std::vector<TopLine> draw(const TopSnapshot& snapshot, const TopState& state,
                                        TopSize size, const Output& out);

}  // namespace tangram::cli
