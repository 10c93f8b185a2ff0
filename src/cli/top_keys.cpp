// See top_keys.hpp.
#include "cli/top_keys.hpp"

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

std::ptrdiff_t place_of(const std::vector<const api::JobView*>& list, std::uint64_t job) {
  const auto at = std::ranges::find(list, job, &api::JobView::id);
  return at == list.end() ? -1 : at - list.begin();
}

void move_choice(TopState& state, const TopPicture& picture, std::ptrdiff_t by) {
  const auto list = listed_jobs(picture, state);
  if (list.empty()) return;
  const auto last = static_cast<std::ptrdiff_t>(list.size()) - 1;
  const auto to = std::clamp<std::ptrdiff_t>(place_of(list, state.selected) + by, 0, last);
  state.selected = list[static_cast<std::size_t>(to)]->id;
}

// While the filter is typed all letters are its own.
void type(TopState& state, const TopKey& key) {
  if (key.kind == Kind::kEscape) state.filter.clear();
  if (key.kind == Kind::kEscape || key.kind == Kind::kEnter) {
    state.typing = false;
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

TopOutcome decide(TopState& state, const TopKey& key) {
  TopOutcome outcome;
  const std::uint64_t job = *state.question;
  state.question.reset();
  if (key.letter == "y" || key.letter == "Y") {
    outcome.wish = TopWish{TopWish::Deed::kCancel, job};
  } else {
    state.message = cat("job ", job, " is left alone");
  }
  return outcome;
}

void scroll(TopState& state, const TopKey& key) {
  const std::ptrdiff_t by = key.letter == "j" ? 1 : key.letter == "k" ? -1 : distance_of(key.kind);
  const auto to = static_cast<std::ptrdiff_t>(state.panel_line) + by;
  const auto lines = std::ranges::count(state.panel, '\n');
  state.panel_line = static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(to, 0, lines));
}

void command(TopState& state, const TopPicture& picture, const std::string& letter,
             TopOutcome& outcome) {
  const bool chosen = place_of(listed_jobs(picture, state), state.selected) >= 0;
  if (letter == "q") {
    outcome.quit = true;
  } else if (letter == "s") {
    state.sort = static_cast<TopSort>((static_cast<int>(state.sort) + 1) % kTopSorts);
  } else if (letter == "/") {
    state.typing = true;
    state.filter.clear();
  } else if (letter == "p") {
    state.paused = !state.paused;
  } else if (letter == "?") {
    state.help = true;
  } else if (letter == "j" || letter == "k") {
    move_choice(state, picture, letter == "j" ? 1 : -1);
  } else if ((letter == "c" || letter == "e") && !chosen) {
    state.message = "choose a job first, with up and down";
  } else if (letter == "c") {
    state.question = state.selected;
  } else if (letter == "e") {
    outcome.wish = TopWish{TopWish::Deed::kExplain, state.selected};
  }
}

}  // namespace

TopOutcome press(TopState& state, const TopPicture& picture, const TopKey& key) {
  TopOutcome outcome;
  state.message.clear();
  if (state.question) return decide(state, key);
  if (state.typing) {
    type(state, key);
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
    command(state, picture, key.letter, outcome);
  } else if (key.kind == Kind::kEscape) {
    state.filter.clear();
  } else {
    move_choice(state, picture, distance_of(key.kind));
  }
  return outcome;
}

void keep_choice(TopState& state, const TopPicture& before, const TopPicture& after) {
  const auto now = listed_jobs(after, state);
  if (state.selected == 0 || place_of(now, state.selected) >= 0) return;
  const std::ptrdiff_t old = place_of(listed_jobs(before, state), state.selected);
  if (now.empty() || old < 0) {
    state.selected = 0;
    return;
  }
  const auto last = static_cast<std::ptrdiff_t>(now.size()) - 1;
  state.selected = now[static_cast<std::size_t>(std::min(old, last))]->id;
}

}  // namespace tangram::cli
