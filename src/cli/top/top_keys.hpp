// Key handling of `tangram top`: changes the view's state. Pure: requests to the daemon are
// returned to the caller.
#pragma once

#include <optional>

#include "cli/top/top_screen.hpp"
#include "cli/top/top_view.hpp"

namespace tangram::cli {

struct TopOutcome {
  bool quit = false;
  std::optional<TopRequest> request;
};

[[nodiscard]] TopOutcome press(TopState& state, const TopSnapshot& snapshot, const TopKey& key);
// Keeps the selection when the list changes: if the selected job is gone, selects the job that is
// now in its row.
void keep_selection(TopState& state, const TopSnapshot& before, const TopSnapshot& after);

}  // namespace tangram::cli
