// See scenario_inputs.hpp.
#include "scenario_inputs.hpp"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <set>
#include <sstream>

namespace tangram::tests {
namespace {

Lines words_of(std::string line) {
  std::ranges::replace(line, '=', ' ');
  std::istringstream in(line);
  Lines words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// Why an input cannot be given to the daemon; empty if it can.
std::string unplayable_reason(const ScenarioInput& input, std::uint64_t next_job) {
  static const std::set<std::string> kPlayable = {
      "node", "gpu",     "submit", "cancel", "exit",  "tune",     "foreign", "lose",
      "hold", "release", "again",  "cordon", "drain", "uncordon", "recover"};
  const Lines& words = input.words;
  const std::string& first = words.front();
  if (first == "fail") {
    // A start here fails like a program that cannot be run: an exit, not a failed action.
    static const std::set<std::string> kNotFromOutside = {"start", "stop", "switch"};
    return kNotFromOutside.contains(words[2]) ? "fail next " + words[2] : "";
  }
  if (!kPlayable.contains(first)) return first;
  const auto has = [&](const char* word) { return std::ranges::find(words, word) != words.end(); };
  if (first == "node" && has("backfill")) return "backfill: depends on how long jobs run";
  if (words.back() == "limit") return "a limit: counted by the daemon itself";
  if (first == "submit") {
    if (words[2] != std::to_string(next_job)) return "submit: not in the order of job numbers";
    if (has("lease")) return "submit: a lease";
    if (has("dependent") || has("array")) return "submit: waits for jobs that do not exist";
    const bool refused = std::ranges::any_of(input.decisions, [](const std::string& decision) {
      return decision.find("refused") != std::string::npos;
    });
    if (refused) return "submit: refused before a job exists";
  }
  return "";
}

}  // namespace

bool is_wake(const std::string& decision) { return decision.starts_with("wake at "); }

bool may_be_refused(const ScenarioInput& input) {
  const std::string verb = input.words.empty() ? "" : input.words.front();
  return input.decisions.empty() && (verb == "hold" || verb == "release");
}

ScenarioInputs read_scenario(const std::filesystem::path& file) {
  ScenarioInputs scenario{.name = file.parent_path().filename() / file.filename(), .inputs = {}};
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line == "> show") continue;
    if (line.starts_with("> ")) {
      scenario.inputs.push_back({.words = words_of(line.substr(2))});
    } else if (line.starts_with("  in   ")) {
      // The daemon does not report a known foreign instance to the scheduler again.
      if (scenario.inputs.back().words.front() != "again") ++scenario.inputs.back().events;
    } else if (line.starts_with("  out  ") && !is_wake(line.substr(7))) {
      scenario.inputs.back().decisions.push_back(line.substr(7));
    }
  }
  return scenario;
}

std::string make_playable(ScenarioInputs& scenario) {
  std::uint64_t next_job = 1;
  for (std::size_t i = 0; i < scenario.inputs.size(); ++i) {
    const ScenarioInput& input = scenario.inputs[i];
    const std::string why = unplayable_reason(input, next_job);
    const bool takes_slot = input.words.front() == "foreign" && next_job > 1;
    if (why == "wake" || takes_slot) {
      scenario.inputs.resize(i);
      scenario.truncated = true;
      return "";
    }
    if (!why.empty()) return why;
    if (input.words.front() == "again" && scenario.inputs[i - 1].words.front() != "foreign") {
      return "again";
    }
    if (input.words.front() == "submit") ++next_job;
  }
  return "";
}

}  // namespace tangram::tests
