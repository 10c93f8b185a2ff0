// See top_keys.hpp.
#include "cli/top/top_keys.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace tangram::cli {
namespace {

constexpr std::ptrdiff_t kPage = 10;
using Kind = TopKey::Kind;

std::ptrdiff_t distance_of(Kind kind) {
  constexpr std::ptrdiff_t kFar = 1'000'000;
  switch (kind) {
    case Kind::kUp:
      return -1;
    case Kind::kDown:
      return 1;
    case Kind::kPageUp:
      return -kPage;
    case Kind::kPageDown:
      return kPage;
    case Kind::kHome:
      return -kFar;
    case Kind::kEnd:
      return kFar;
    default:
      return 0;
  }
}

std::ptrdiff_t row_of(const std::vector<const api::JobView*>& list, std::uint64_t job) {
  const auto at = std::ranges::find(list, job, &api::JobView::id);
  return at == list.end() ? -1 : at - list.begin();
}

void move_selection(TopState& state, const TopSnapshot& snapshot, std::ptrdiff_t by) {
  const auto list = listed_jobs(snapshot, state);
  if (list.empty()) return;
  const auto last = static_cast<std::ptrdiff_t>(list.size()) - 1;
  const auto to = std::clamp<std::ptrdiff_t>(row_of(list, state.selected) + by, 0, last);
  state.selected = list[static_cast<std::size_t>(to)]->id;
}

// A key while the filter is being edited.
void edit_filter(TopState& state, const TopKey& key) {
  if (key.kind == Kind::kEscape) state.filter.clear();
  if (key.kind == Kind::kEscape || key.kind == Kind::kEnter) {
    state.editing_filter = false;
  } else if (key.kind == Kind::kErase) {
    while (!state.filter.empty()) {
      const auto byte = static_cast<unsigned char>(state.filter.back());
      state.filter.pop_back();
      if ((byte & 0xC0U) != 0x80U) break;
    }
  } else {
    state.filter += key.letter;
  }
}

// A key while "cancel job N? y/n" is shown.
TopOutcome confirm(TopState& state, const TopKey& key) {
  TopOutcome outcome;
  const std::uint64_t job = *state.confirming;
  state.confirming.reset();
  if (key.letter == "y" || key.letter == "Y") {
    outcome.request = TopRequest{TopRequest::Action::kCancel, job};
  } else {
    state.message = cat("job ", job, " is not cancelled");
  }
  return outcome;
}

void scroll(TopState& state, const TopKey& key) {
  std::ptrdiff_t by = distance_of(key.kind);
  if (key.letter == "j") by = 1;
  if (key.letter == "k") by = -1;
  const auto to = static_cast<std::ptrdiff_t>(state.panel_line) + by;
  const auto lines = std::ranges::count(state.panel, '\n');
  state.panel_line = static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(to, 0, lines));
}

void run_command(TopState& state, const TopSnapshot& snapshot, const std::string& letter,
                 TopOutcome& outcome) {
  const bool selected = row_of(listed_jobs(snapshot, state), state.selected) >= 0;
  if (letter == "q") {
    outcome.quit = true;
  } else if (letter == "s") {
    state.sort = static_cast<TopSort>((static_cast<int>(state.sort) + 1) % kTopSorts);
  } else if (letter == "/") {
    state.editing_filter = true;
    state.filter.clear();
  } else if (letter == "p") {
    state.paused = !state.paused;
  } else if (letter == "?") {
    state.help = true;
  } else if (letter == "j" || letter == "k") {
    move_selection(state, snapshot, letter == "j" ? 1 : -1);
  } else if ((letter == "c" || letter == "e") && !selected) {
    state.message = "select a job first, with up and down";
  } else if (letter == "c") {
    state.confirming = state.selected;
  } else if (letter == "e") {
    outcome.request = TopRequest{TopRequest::Action::kExplain, state.selected};
  }
}

}  // namespace

TopOutcome press(TopState& state, const TopSnapshot& snapshot, const TopKey& key) {
  TopOutcome outcome;
  state.message.clear();
  if (state.confirming) return confirm(state, key);
  if (state.editing_filter) {
    edit_filter(state, key);
    return outcome;
  }
  const bool open = state.help || !state.panel.empty();
  if (open && key.letter != "q") {
    const bool moves = distance_of(key.kind) != 0 || key.letter == "j" || key.letter == "k";
    if (moves && !state.help) {
      scroll(state, key);
      return outcome;
    }
    state.help = false;
    state.panel.clear();
    return outcome;
  }
  if (key.kind == Kind::kLetter) {
    run_command(state, snapshot, key.letter, outcome);
  } else if (key.kind == Kind::kEscape) {
    state.filter.clear();
  } else {
    move_selection(state, snapshot, distance_of(key.kind));
  }
  return outcome;
}

void keep_selection(TopState& state, const TopSnapshot& before, const TopSnapshot& after) {
  const auto now = listed_jobs(after, state);
  if (state.selected == 0 || row_of(now, state.selected) >= 0) return;
  const std::ptrdiff_t old = row_of(listed_jobs(before, state), state.selected);
  if (now.empty() || old < 0) {
    state.selected = 0;
    return;
  }
  const auto last = static_cast<std::ptrdiff_t>(now.size()) - 1;
  state.selected = now[static_cast<std::size_t>(std::min(old, last))]->id;
}

}  // namespace tangram::cli
