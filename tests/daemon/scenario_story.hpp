// A scenario of the scheduler as somebody at the daemon's door could live through it: its inputs,
// and what followed from each. One rule: what cannot be given there is named, never passed over.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace tangram::tests {

using Lines = std::vector<std::string>;

struct Given {
  Lines words;          // of the input line
  Lines outs;           // the decisions that follow from it
  std::size_t ins = 0;  // the events that led to them
};

struct Story {
  std::string name;
  std::vector<Given> inputs;
  bool in_part = false;
};

// Wake-ups that the scheduler asks for: absolute times differ, so they are no part of a comparison.
[[nodiscard]] bool is_wake(const std::string& decision);
// The daemon refuses to hold or release what the scheduler would leave as it is.
[[nodiscard]] bool may_be_refused(const Given& given);
[[nodiscard]] Story read_story(const std::filesystem::path& file);
// Cuts the story where it waits for half a minute to pass, or where a stranger takes a place that
// ours had (he removes ours first, and the daemon may see it gone); else says why it cannot be
// played at all.
[[nodiscard]] std::string fit(Story& story);

}  // namespace tangram::tests
