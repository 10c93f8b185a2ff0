// Workload: a stream of tasks in order of arrival. A task wants one MIG profile and either runs for
// a time, or serves queries of a language model, whose speed depends on its slice and its
// neighbours. Tasks are drawn or read one by one, so that a simulation holds only the live ones.
// The same seed gives the same tasks.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace tangram::sim {

struct Task {
  double arrival_s = 0;
  double duration_s = 0;     // alone, of a task without a model
  double prompt_tokens = 0;  // of all its queries together
  double response_tokens = 0;
  float transfer_share = 0;  // of duration_s, spent on the PCIe link
  std::uint16_t queries = 0;
  std::int16_t model = -1;   // of language_models(); -1: duration_s counts
  std::uint8_t profile = 0;  // of Workload::profiles
  bool movable = true;
};

struct Workload {
  std::string name;
  std::vector<std::string> profiles;
  std::uint64_t tasks = 0;          // how many there will be
  std::function<bool(Task&)> next;  // false: no more
  std::uint64_t seed = 0;           // for the world's own random numbers
};

// A workload of given tasks, e.g. from a file.
[[nodiscard]] Workload workload_of(std::string name, std::vector<std::string> profiles,
                                   std::vector<Task> tasks);

// How often each profile is wanted.
struct Share {
  std::string profile;
  int count;
};
// "1g.5gb:4,2g.10gb:3"
[[nodiscard]] Result<std::vector<Share>> parse_mix(std::string_view text);

// The static instances of the paper's four GPUs, whose distribution the requests follow.
[[nodiscard]] const std::vector<Share>& paper_mix();

// The four workloads of the paper (Table II): normal25, long25, normal50, long50.
struct PaperWorkload {
  std::string name = "normal25";
  double mean_arrival_s = 25;
  bool long_queries = false;
  int tasks = 100;
  double queries_per_task = 3;  // mean; each task has the integer below or above
  std::vector<Share> mix = paper_mix();
  double within_s = 0;           // above 0: all arrivals are uniform within this time
  std::int16_t only_model = -1;  // of language_models(); only its profiles are drawn
};
[[nodiscard]] const std::vector<std::string>& paper_workload_names();
[[nodiscard]] Result<PaperWorkload> paper_workload(std::string_view name);
[[nodiscard]] Workload generate(const PaperWorkload& paper, std::uint64_t seed);
// The language model of a paper's task: opt-6.7b or bloom-1b7 on small profiles, opt-13b or
// bloom-7b1 on the others (§V-A); `second` selects. A profile is small below 16 GB, by its name.
[[nodiscard]] std::int16_t paper_model(bool small, bool second);
[[nodiscard]] bool is_small(const std::vector<Share>& mix, std::size_t profile);

// Mean tokens of a query, for the rule that sets queries per task.
struct MeanQuery {
  double prompt_tokens;
  double response_tokens;
};
[[nodiscard]] MeanQuery mean_query(bool long_queries);

// Cluster scale: a mix of profiles, Poisson arrivals, a distribution of durations.
enum class DurationLaw : std::uint8_t { kExponential, kConstant, kLogNormal };
[[nodiscard]] Result<DurationLaw> parse_law(std::string_view name);
struct Synthetic {
  std::vector<Share> mix = paper_mix();
  std::uint64_t tasks = 1000;
  double mean_arrival_s = 1;
  double mean_duration_s = 300;
  double transfer_share = 0.4;  // about the mean of the paper's models over the paper's mix
  double movable_share = 1;
  DurationLaw law = DurationLaw::kExponential;
  double sigma = 1;  // of the logarithm, for kLogNormal
};
[[nodiscard]] Workload generate(const Synthetic& synthetic, std::uint64_t seed);

}  // namespace tangram::sim
