// Fuzzes trace files; the first byte selects the options and, because few inputs would find one,
// perhaps a valid first line; the rest is the file. Checked: a text is rejected with its line and
// the reason, or every row of it is accounted for, its tasks are in order and within the
// simulator's limits, and reading it again gives the same. Skipping bad rows changes nothing if
// there are none.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.hpp"
#include "sim/llm.hpp"
#include "sim/traces.hpp"

namespace tangram::sim {
namespace {

TraceOptions options_of(std::uint8_t choice) {
  TraceOptions options;
  options.skip_bad = (choice & 1U) != 0;
  options.max_tasks = (choice & 2U) != 0 ? 2 : 0;
  options.queries_per_task = (choice & 4U) != 0 ? 1.5 : 3;
  options.speed_up = (choice & 8U) != 0 ? 0.001 : 1;
  if ((choice & 16U) != 0) options.form = TraceForm::kPlain;
  if ((choice & 32U) != 0) options.form = TraceForm::kAzure;
  options.seed = choice;
  return options;
}

std::string_view first_line_of(std::uint8_t choice) {
  switch (choice >> 6U) {
    case 1:
      return "arrival_s,profile,duration_s,movable\n";
    case 2:
      return "arrival_s,profile,model,prompt_tokens,response_tokens,queries\n";
    case 3:
      return "TIMESTAMP,ContextTokens,GeneratedTokens\n";
    default:
      return "";
  }
}

// "fuzz.csv:12: what is wrong".
void check_message(const std::string& message) {
  constexpr std::string_view kFile = "fuzz.csv:";
  CHECK(message.starts_with(kFile));
  const std::string_view rest = std::string_view(message).substr(kFile.size());
  CHECK(!rest.empty() && rest.front() >= '1' && rest.front() <= '9');
  CHECK(message.find('\n') == std::string::npos);
}

bool same(const Task& a, const Task& b) {
  return a.arrival_s == b.arrival_s && a.duration_s == b.duration_s &&
         a.prompt_tokens == b.prompt_tokens && a.response_tokens == b.response_tokens &&
         a.transfer_share == b.transfer_share && a.queries == b.queries && a.model == b.model &&
         a.profile == b.profile && a.movable == b.movable;
}

bool same(const Trace& a, const Trace& b) {
  return a.form == b.form && a.profiles == b.profiles && a.rows == b.rows &&
         a.bad_rows == b.bad_rows && a.left_out == b.left_out && a.not_used == b.not_used &&
         std::ranges::equal(a.tasks, b.tasks,
                            [](const Task& x, const Task& y) { return same(x, y); });
}

void check_task(const Trace& trace, const Task& task) {
  CHECK(task.arrival_s >= 0 && task.arrival_s <= 1e10);
  CHECK(task.profile < trace.profiles.size());
  CHECK(task.transfer_share >= 0 && task.transfer_share <= 1);
  if (task.model < 0) {
    CHECK(trace.form == TraceForm::kPlain);
    CHECK(task.duration_s >= 0 && task.duration_s <= 1e9);
    return;
  }
  CHECK(static_cast<std::size_t>(task.model) < language_models().size());
  CHECK(task.queries >= 1 && task.prompt_tokens >= 1 && task.response_tokens >= 1);
  if (trace.form == TraceForm::kPlain) return;
  CHECK(task.queries <= 3 && task.prompt_tokens + task.response_tokens <= 2048.0 * task.queries);
}

void check_trace(const Trace& trace, const TraceOptions& options, std::string_view text) {
  CHECK(trace.form != TraceForm::kAuto);
  CHECK(options.form == TraceForm::kAuto || options.form == trace.form);
  CHECK(!trace.tasks.empty() && trace.tasks.front().arrival_s == 0);
  CHECK(std::ranges::is_sorted(trace.tasks, {}, &Task::arrival_s));
  CHECK(options.max_tasks == 0 || trace.tasks.size() <= options.max_tasks);
  std::uint64_t used = 0;
  for (const Task& task : trace.tasks) {
    check_task(trace, task);
    used += trace.form == TraceForm::kPlain ? 1 : task.queries;
  }
  CHECK(trace.rows == used + trace.bad_rows + trace.left_out + trace.not_used);
  CHECK(trace.rows <= static_cast<std::uint64_t>(std::ranges::count(text, '\n')));
  CHECK(trace.bad_rows == 0 || options.skip_bad);
  CHECK(trace.first_bad.size() == std::min<std::uint64_t>(trace.bad_rows, 5));
  for (const BadRow& bad : trace.first_bad) CHECK(bad.line > 1 && !bad.reason.empty());
}

void check_input(std::uint8_t choice, std::string_view text) {
  TraceOptions options = options_of(choice);
  const Result<Trace> trace = read_trace(text, "fuzz.csv", options);
  const Result<Trace> again = read_trace(text, "fuzz.csv", options);
  CHECK(trace.has_value() == again.has_value());
  if (!trace) {
    check_message(trace.error().message);
    CHECK(trace.error() == again.error());
    return;
  }
  check_trace(*trace, options, text);
  CHECK(same(*trace, *again));
  options.skip_bad = !options.skip_bad;
  const Result<Trace> otherwise = read_trace(text, "fuzz.csv", options);
  CHECK(otherwise.has_value() == (trace->bad_rows == 0));
  CHECK(!otherwise || same(*trace, *otherwise));
}

}  // namespace
}  // namespace tangram::sim

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::string text(tangram::sim::first_line_of(data[0]));
  text.append(data + 1, data + size);
  tangram::sim::check_input(data[0], text);
  return 0;
}
