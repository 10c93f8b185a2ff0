// The plain form of a trace: a row is a task, with its profile and either a duration or the tokens
// of a language model; written by hand or exported from a scheduler. Nothing is drawn.
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/text.hpp"
#include "sim/llm.hpp"
#include "sim/trace_rows.hpp"

namespace tangram::sim {
namespace {

constexpr std::size_t kMaxProfiles = 200;
constexpr std::size_t kMaxProfileLength = 64;
constexpr Range kArrival{0, 1e10, false, "a number of seconds from 0 to 1e10"};
constexpr Range kDuration{0, 1e9, false, "a number of seconds from 0 to 1e9"};
constexpr Range kShare{0, 1, false, "a number from 0 to 1"};
constexpr Range kTaskTokens{1, 1e9, true, "a whole number from 1 to 1e9"};
constexpr Range kQueries{1, 65535, true, "a whole number from 1 to 65535"};

struct Columns {
  Column arrival;
  Column profile;
  std::optional<Column> duration;
  std::optional<Column> transfer_share;
  std::optional<Column> model;
  std::optional<Column> prompt_tokens;
  std::optional<Column> response_tokens;
  std::optional<Column> queries;
  std::optional<Column> movable;

  explicit Columns(const TraceRows& rows)
      : arrival(rows.needed("arrival_s")),
        profile(rows.needed("profile")),
        duration(rows.find("duration_s")),
        transfer_share(rows.find("transfer_share")),
        model(rows.find("model")),
        prompt_tokens(rows.find("prompt_tokens")),
        response_tokens(rows.find("response_tokens")),
        queries(rows.find("queries")),
        movable(rows.find("movable")) {}
};

bool is_profile_name(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("._+-").find(c) != std::string_view::npos;
  };
  return !name.empty() && name.size() <= kMaxProfileLength && std::ranges::all_of(name, allowed);
}

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const LanguageModel& model : language_models()) names.emplace_back(model.name);
  return names;
}

std::int16_t read_model(TraceRow& row, const Column& column) {
  const std::string_view name = row.text(column);
  const auto models = language_models();
  const auto found = std::ranges::find(models, name, &LanguageModel::name);
  if (found != models.end()) return static_cast<std::int16_t>(found - models.begin());
  const std::vector<std::string> names = model_names();
  const auto near = nearest(name, names);
  row.reject(cat("the column model has ", quoted(name), ", which is not a language model",
                 near ? cat("; did you mean ", *near, "?") : std::string("."),
                 " Known: ", join_words(names), "."));
  return -1;
}

bool read_movable(TraceRow& row, const Column& column) {
  const std::string_view text = row.text(column);
  if (text == "1" || text == "true") return true;
  if (text != "0" && text != "false") row.reject(column, "0, 1, true or false");
  return false;
}

class PlainRows {
 public:
  PlainRows(const TraceRows& rows, Trace& trace) : columns_(rows), trace_(trace) {}

  void take(TraceRow& row) {
    Task task;
    task.arrival_s = row.number(columns_.arrival, kArrival);
    if (columns_.model) {
      read_tokens(row, task);
    } else {
      task.duration_s = row.number(*columns_.duration, kDuration);
      if (const auto& share = columns_.transfer_share) {
        task.transfer_share = static_cast<float>(row.number(*share, kShare));
      }
    }
    if (columns_.movable) task.movable = read_movable(row, *columns_.movable);
    task.profile = read_profile(row);  // last: a bad row must not add a profile
    if (row.good()) trace_.tasks.push_back(task);
  }

 private:
  void read_tokens(TraceRow& row, Task& task) const {
    task.model = read_model(row, *columns_.model);
    task.prompt_tokens = row.number(*columns_.prompt_tokens, kTaskTokens);
    task.response_tokens = row.number(*columns_.response_tokens, kTaskTokens);
    task.queries = 1;
    if (const auto& queries = columns_.queries) {
      task.queries = static_cast<std::uint16_t>(row.number(*queries, kQueries));
    }
  }

  std::uint8_t read_profile(TraceRow& row) {
    const std::string_view name = row.text(columns_.profile);
    const auto known = numbers_.find(name);
    if (known != numbers_.end()) return known->second;
    if (!is_profile_name(name)) {
      row.reject(columns_.profile, "a name of 1 to 64 letters, digits, '.', '_', '+' or '-'");
    } else if (trace_.profiles.size() == kMaxProfiles) {
      row.reject(cat("the column profile has ", quoted(name), " after ", kMaxProfiles,
                     " other profiles, the maximum."));
    }
    if (!row.good()) return 0;
    const auto number = static_cast<std::uint8_t>(trace_.profiles.size());
    trace_.profiles.emplace_back(name);
    numbers_.emplace(name, number);
    return number;
  }

  Columns columns_;
  Trace& trace_;
  std::map<std::string, std::uint8_t, std::less<>> numbers_;
};

}  // namespace

Result<void> read_plain(TraceRows& rows, const TraceOptions& options, Trace& trace) {
  PlainRows plain(rows, trace);
  const auto done = rows.each(trace, [&](TraceRow& row) { plain.take(row); });
  if (!done) return done;
  sort_by_arrival(trace.tasks);
  if (options.max_tasks > 0 && trace.tasks.size() > options.max_tasks) {
    trace.not_used = trace.tasks.size() - options.max_tasks;
    trace.tasks.resize(static_cast<std::size_t>(options.max_tasks));
  }
  return {};
}

}  // namespace tangram::sim
