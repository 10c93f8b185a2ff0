// See scenario_story.hpp.
#include "scenario_story.hpp"

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
std::string obstacle(const Given& input, std::uint64_t next_job) {
  static const std::set<std::string> kCan = {"node",  "gpu",     "submit", "cancel",   "exit",
                                             "tune",  "foreign", "lose",   "hold",     "release",
                                             "again", "cordon",  "drain",  "uncordon", "recover"};
  const Lines& words = input.words;
  const std::string& first = words.front();
  if (first == "fail") {
    return words[2] == "stop" || words[2] == "switch" ? "fail next " + words[2] : "";
  }
  if (!kCan.contains(first)) return first;
  if (words.back() == "limit") return "a limit: that is counted by the daemon itself";
  if (first == "submit") {
    if (words[2] != std::to_string(next_job)) return "submit: not in the order of their numbers";
    if (std::ranges::find(words, "lease") != words.end()) return "submit: a lease";
    const bool refused = std::ranges::any_of(input.outs, [](const std::string& out) {
      return out.find("refused") != std::string::npos;
    });
    if (refused) return "submit: refused before it is a job";
  }
  return "";
}

}  // namespace

bool is_wake(const std::string& decision) { return decision.starts_with("wake at "); }

bool may_be_refused(const Given& given) {
  const std::string what = given.words.empty() ? "" : given.words.front();
  return given.outs.empty() && (what == "hold" || what == "release");
}

Story read_story(const std::filesystem::path& file) {
  Story story{.name = file.parent_path().filename() / file.filename(), .inputs = {}};
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line == "> show") continue;
    if (line.starts_with("> ")) {
      story.inputs.push_back({.words = words_of(line.substr(2)), .outs = {}});
    } else if (line.starts_with("  in   ")) {
      // A stranger who is seen again is known; the daemon does not tell the scheduler twice.
      if (story.inputs.back().words.front() != "again") ++story.inputs.back().ins;
    } else if (line.starts_with("  out  ") && !is_wake(line.substr(7))) {
      story.inputs.back().outs.push_back(line.substr(7));
    }
  }
  return story;
}

std::string fit(Story& story) {
  std::uint64_t next_job = 1;
  for (std::size_t i = 0; i < story.inputs.size(); ++i) {
    const Given& input = story.inputs[i];
    const std::string why = obstacle(input, next_job);
    const bool takes_our_place = input.words.front() == "foreign" && next_job > 1;
    if (why == "wake" || takes_our_place) {
      story.inputs.resize(i);
      story.in_part = true;
      return "";
    }
    if (!why.empty()) return why;
    if (input.words.front() == "again" && story.inputs[i - 1].words.front() != "foreign") {
      return "again";
    }
    if (input.words.front() == "submit") ++next_job;
  }
  return "";
}

}  // namespace tangram::tests
