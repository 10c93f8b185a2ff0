// What `tangram top` draws, as lines of styled text: the node's header, a strip per GPU, the jobs,
// and what the keys have opened over them. One rule: pure; the same picture, state and size give
// the same lines, so that the view is tested without a terminal.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "cli/slice_map.hpp"
#include "cli/top_feed.hpp"

namespace tangram::cli {

enum class TopSort : std::uint8_t { kId, kUser, kProfile, kState, kTime, kPlace };
inline constexpr int kTopSorts = 6;
[[nodiscard]] std::string_view name_of(TopSort sort);

// FragCost of the last minutes, a number per span of time.
class FragTrail {
 public:
  void add(api::WallTime when, double cost);
  [[nodiscard]] std::string line(std::size_t width, bool utf8) const;

 private:
  static constexpr std::chrono::seconds kSpan{5};
  static constexpr std::size_t kMost = 120;
  std::deque<double> costs_;  // the highest of each span
  api::WallTime span_{};      // when the last one began
};

struct TopState {
  TopSort sort = TopSort::kId;
  std::string filter;
  bool typing = false;  // the filter
  bool paused = false;
  bool help = false;
  std::uint64_t selected = 0;             // the job; 0: none
  std::optional<std::uint64_t> question;  // cancel this one?
  std::string panel;                      // lines of an explanation; empty: closed
  std::size_t panel_line = 0;             // the first that is shown
  std::string message;                    // of the last deed
  FragTrail trail;
};

struct TopLine {
  std::vector<Piece> pieces;
  bool selected = false;
};

struct TopSize {
  int rows = 24;
  int columns = 80;
};

// The jobs as they are listed: filtered by number, name, user, profile or state, and sorted.
[[nodiscard]] std::vector<const api::JobView*> listed_jobs(const TopPicture& picture,
                                                           const TopState& state);
// At most as many lines as there are rows.
[[nodiscard]] std::vector<TopLine> draw(const TopPicture& picture, const TopState& state,
                                        TopSize size, const Output& out);

}  // namespace tangram::cli
