// Traces of single queries, BurstGPT's and Azure's: a row has a query's arrival and tokens.
// Consecutive queries become a task; its profile and language model are drawn as for the paper's
// workloads. What is drawn depends on the seed only.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/mix.hpp"
#include "sim/random.hpp"
#include "sim/time_stamp.hpp"
#include "sim/trace_rows.hpp"

namespace tangram::sim {
namespace {

constexpr Range kTimestamp{0, 1e10, false, "a number of seconds from 0 to 1e10"};
constexpr Range kQueryTokens{0, 1e9, true, "a whole number from 0 to 1e9"};

struct TraceQuery {
  double arrival_s;
  std::uint32_t prompt_tokens;
  std::uint32_t response_tokens;
};

class QueryRows {
 public:
  QueryRows(const TraceRows& rows, TraceForm form, double max_tokens)
      : azure_(form == TraceForm::kAzure),
        time_(rows.needed(azure_ ? "TIMESTAMP" : "Timestamp")),
        prompt_(rows.needed(azure_ ? "ContextTokens" : "Request tokens")),
        response_(rows.needed(azure_ ? "GeneratedTokens" : "Response tokens")),
        max_tokens_(max_tokens) {}

  void take(TraceRow& row, Trace& trace) {
    const double arrival_s = azure_ ? read_time(row) : row.number(time_, kTimestamp);
    const double prompt = row.number(prompt_, kQueryTokens);
    const double response = row.number(response_, kQueryTokens);
    if (!row.good()) return;
    if (prompt == 0 || response == 0 || prompt + response > max_tokens_) {
      ++trace.left_out;
      return;
    }
    queries_.push_back(
        {arrival_s, static_cast<std::uint32_t>(prompt), static_cast<std::uint32_t>(response)});
  }

  std::vector<TraceQuery> by_arrival() && {
    sort_by_arrival(queries_);
    return std::move(queries_);
  }

 private:
  // Seconds since the day of the first row: seconds since 1970 would lose digits.
  double read_time(TraceRow& row) {
    const auto stamp = parse_time_stamp(row.text(time_));
    if (!stamp) {
      row.reject(time_, "a time such as 2023-11-16 18:17:03.97 (fraction optional)");
      return 0;
    }
    if (!first_day_) first_day_ = stamp->day;
    return static_cast<double>((stamp->day - *first_day_).count()) * 86400 + stamp->second;
  }

  bool azure_;
  Column time_;
  Column prompt_;
  Column response_;
  double max_tokens_;
  std::optional<std::chrono::sys_days> first_day_;
  std::vector<TraceQuery> queries_;
};

// One random stream per purpose, so that changing one option does not affect the other draws.
class TaskDraws {
 public:
  explicit TaskDraws(const TraceOptions& options) : TaskDraws(options, Random(options.seed)) {}

  // Takes the first of `queries` and returns their task.
  Task next(std::span<const TraceQuery>& queries) {
    const auto count = static_cast<std::size_t>(draw_queries(mean_queries_, counts_));
    const auto own = queries.first(std::min(count, queries.size()));
    queries = queries.subspan(own.size());
    Task task{.arrival_s = own.front().arrival_s};
    task.queries = static_cast<std::uint16_t>(own.size());
    task.profile = mix_.draw(sizes_);
    task.model = paper_model(small_[task.profile], models_.below(2) == 1);
    for (const TraceQuery& query : own) {
      task.prompt_tokens += query.prompt_tokens;
      task.response_tokens += query.response_tokens;
    }
    return task;
  }

 private:
  TaskDraws(const TraceOptions& options, Random root)
      : mean_queries_(options.queries_per_task),
        mix_(options.mix),
        sizes_(root.fork()),
        models_(root.fork()),
        counts_(root.fork()) {
    for (std::size_t i = 0; i < options.mix.size(); ++i) {
      small_.push_back(is_small(options.mix, i));
    }
  }

  double mean_queries_;
  std::vector<bool> small_;  // by profile of the mix
  Mix mix_;
  Random sizes_;
  Random models_;
  Random counts_;
};

}  // namespace

Result<void> read_queries(TraceRows& rows, TraceForm form, const TraceOptions& options,
                          Trace& trace) {
  QueryRows reader(rows, form, options.max_tokens);
  const auto done = rows.each(trace, [&](TraceRow& row) { reader.take(row, trace); });
  if (!done) return done;
  trace.profiles = names_of(options.mix);
  const std::vector<TraceQuery> queries = std::move(reader).by_arrival();
  std::span<const TraceQuery> left(queries);
  TaskDraws draws(options);
  while (!left.empty() && (options.max_tasks == 0 || trace.tasks.size() < options.max_tasks)) {
    trace.tasks.push_back(draws.next(left));
  }
  trace.not_used = left.size();
  return {};
}

}  // namespace tangram::sim
