// Shared by the tests of the lab: an experiment so small that all of its arrangements are simulated
// quickly.
#pragma once

#include <string>
#include <string_view>

#include "lab/experiment.hpp"
#include "tests/support/mig/models.hpp"
#include "tests/support/os/folder.hpp"

namespace tangram::lab::testing {

using os::testing::Folder;

// One key per line, so that a test can count lines.
inline constexpr std::string_view kSmallConfig = R"(title = "Small"
section = "a test"
kind = "ablation"
model = "A100-40GB"
gpus = 2
instances = "2g.10gb:2,3g.20gb:2"
workloads = ["normal25"]
tasks = 12
seeds = 2
load_percent = 80
threshold = "0.4"
)";

inline constexpr std::string_view kSmallExpected = R"(paper = "Nothing."
[[claim]]
measure = "makespan_reduction"
at_least_percent = 0
says = "it is no worse"
)";

// Returns the text with one of its parts replaced.
inline std::string changed(std::string_view text, std::string_view part, std::string_view by) {
  std::string out(text);
  const std::size_t at = out.find(part);
  CHECK(at != std::string::npos);
  return out.replace(at, part.size(), by);
}

inline Experiment small_experiment(std::string_view config = kSmallConfig) {
  return mig::testing::or_stop(parse_experiment("small", config, kSmallExpected, "", "x"));
}

}  // namespace tangram::lab::testing
