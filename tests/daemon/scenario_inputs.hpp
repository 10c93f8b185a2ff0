// Reads a scenario of the scheduler (tests/scenarios) as inputs that a test can give to the daemon:
// requests, processes that end, driver faults. An input that cannot be given to the daemon is
// reported, never skipped.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace tangram::tests {

using Lines = std::vector<std::string>;

struct ScenarioInput {
  Lines words;             // of the input line
  Lines decisions = {};    // that follow from it
  std::size_t events = 0;  // that lead to the decisions
};

struct ScenarioInputs {
  std::string name;
  std::vector<ScenarioInput> inputs;
  bool truncated = false;  // by make_playable()
};

// Whether a decision is a wake-up. Their absolute times differ, so they are not compared.
[[nodiscard]] bool is_wake(const std::string& decision);
// Whether the daemon may refuse an input that the scheduler would ignore: a hold or a release.
[[nodiscard]] bool may_be_refused(const ScenarioInput& input);
[[nodiscard]] ScenarioInputs read_scenario(const std::filesystem::path& file);
// Truncates the scenario where it waits for half a minute to pass, or where a foreign instance
// takes a slot of a job (the emulator removes the job's instance first, which the daemon may
// notice). Returns why the scenario cannot be given to the daemon at all, or "" if it can.
[[nodiscard]] std::string make_playable(ScenarioInputs& scenario);

}  // namespace tangram::tests
