// Traces: workloads in CSV files. Three forms are known: BurstGPT's, the Azure LLM inference
// traces, and a plain one of Tangram's own (docs/traces.md):
//     arrival_s,profile,duration_s[,transfer_share][,movable]
//     arrival_s,profile,model,prompt_tokens,response_tokens[,queries][,movable]
// The first line names the columns, in any order. Rows of BurstGPT and Azure are single queries
// without a profile or a model: they become tasks of some queries each, with the profile drawn from
// a mix and the model by the paper's rule. A bad row is an error with its line and reason, unless
// bad rows are skipped and counted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "sim/workload.hpp"

namespace tangram::sim {

enum class TraceForm : std::uint8_t { kAuto, kPlain, kBurstGpt, kAzure };
[[nodiscard]] Result<TraceForm> parse_trace_form(std::string_view name);  // auto, plain, …

struct TraceOptions {
  TraceForm form = TraceForm::kAuto;  // by the first line
  bool skip_bad = false;
  // For rows without a profile.
  std::vector<Share> mix = paper_mix();
  double queries_per_task = 3;
  double speed_up = 1;          // arrivals come this much faster than in the file
  double max_tokens = 2048;     // longer queries are left out (and counted), as outliers
  std::uint64_t seed = 1;       // draws the profile, the model and the number of queries
  std::uint64_t max_tasks = 0;  // 0: all
};

struct BadRow {
  std::uint64_t line = 0;
  std::string reason;
};

// rows = rows of the tasks + bad_rows + left_out + not_used. A row is a task in the plain form, a
// query in the others.
struct Trace {
  std::string name;                    // of the file, without its directory
  TraceForm form = TraceForm::kPlain;  // never kAuto
  std::vector<std::string> profiles;
  std::vector<Task> tasks;        // by arrival, at least one; the first arrives at 0
  std::uint64_t rows = 0;         // of data
  std::uint64_t bad_rows = 0;     // skipped
  std::vector<BadRow> first_bad;  // at most five
  std::uint64_t left_out = 0;     // failures (no tokens) and outliers; not bad
  std::uint64_t not_used = 0;     // came after the last of most_tasks
};

// Reads a trace. Rows are sorted by arrival, stably. `file_name`: for messages and the name only;
// errors read "file:17: reason".
[[nodiscard]] Result<Trace> read_trace(std::string_view text, std::string_view file_name,
                                       const TraceOptions& options);

}  // namespace tangram::sim
