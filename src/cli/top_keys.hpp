// What the keys of `tangram top` do to its state. One rule: pure; what is to be asked of the daemon
// is handed back.
#pragma once

#include <optional>

#include "cli/top_screen.hpp"
#include "cli/top_view.hpp"

namespace tangram::cli {

struct TopOutcome {
  bool quit = false;
  std::optional<TopWish> wish;
};

[[nodiscard]] TopOutcome press(TopState& state, const TopPicture& picture, const TopKey& key);
// The chosen job may have ended: then the one in its place is chosen.
void keep_choice(TopState& state, const TopPicture& before, const TopPicture& after);

}  // namespace tangram::cli
