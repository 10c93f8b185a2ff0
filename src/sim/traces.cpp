// See traces.hpp. Here: detecting the form, and what all forms have in common.
#include "sim/traces.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "base/text.hpp"
#include "sim/trace_rows.hpp"

namespace tangram::sim {
namespace {

constexpr double kMaxArrivalSeconds = 1e10;  // s after the first
constexpr double kMaxQueries = 65535;        // of a task
constexpr std::size_t kMaxShares = 64;

// The columns of a form. The plain form has two sets.
struct Kind {
  TraceForm form;
  std::string name;
  std::vector<std::string> needed;
  std::vector<std::string> optional;
};

std::span<const Kind> kinds() {
  static const std::vector<Kind> all{
      {TraceForm::kPlain,
       "plain",
       {"arrival_s", "profile", "duration_s"},
       {"transfer_share", "movable"}},
      {TraceForm::kPlain,
       "plain with language models",
       {"arrival_s", "profile", "model", "prompt_tokens", "response_tokens"},
       {"queries", "movable"}},
      {TraceForm::kBurstGpt, "burstgpt", {"Timestamp", "Request tokens", "Response tokens"}, {}},
      {TraceForm::kAzure, "azure", {"TIMESTAMP", "ContextTokens", "GeneratedTokens"}, {}},
  };
  return all;
}

bool has_column(const Kind& kind, std::string_view column) {
  const auto in = [&](const auto& names) {
    return std::ranges::find(names, column) != names.end();
  };
  return in(kind.needed) || in(kind.optional);
}

std::optional<std::string_view> first_missing(const TraceRows& rows, const Kind& kind) {
  for (const std::string& name : kind.needed) {
    if (!rows.find(name)) return name;
  }
  return std::nullopt;
}

// Finds the column that may be a misspelling of `name`, among those that the kind does not have.
std::optional<std::string> find_misspelling(std::string_view name, const TraceRows& rows,
                                            const Kind& kind) {
  std::vector<std::string> unknown;
  for (const std::string& column : rows.header()) {
    if (!has_column(kind, column)) unknown.push_back(column);
  }
  const auto near = nearest(name, unknown);
  if (!near) return std::nullopt;
  return std::string(*near);
}

// How well a file matches the kind; a misspelt column counts half.
int likeness(const TraceRows& rows, const Kind& kind) {
  int points = 0;
  for (const std::string& name : kind.needed) {
    if (rows.find(name)) {
      points += 2;
    } else if (find_misspelling(name, rows, kind)) {
      points += 1;
    }
  }
  return points;
}

std::string requirements_of(TraceForm form) {
  std::string out;
  for (const Kind& kind : kinds()) {
    if (form != TraceForm::kAuto && kind.form != form) continue;
    out += cat(out.empty() ? "" : "; ", kind.name, " needs ", join_words(kind.needed));
  }
  return out + '.';
}

Error no_kind(const TraceRows& rows, TraceForm form) {
  const Kind* best = nullptr;
  int best_points = form == TraceForm::kAuto ? 1 : -1;
  for (const Kind& kind : kinds()) {
    if (form != TraceForm::kAuto && kind.form != form) continue;
    const int points = likeness(rows, kind);
    if (points <= best_points) continue;
    best_points = points;
    best = &kind;
  }
  if (best == nullptr) {
    return rows.at_header(
        cat("the first line names the columns of no known form of trace: ", requirements_of(form)));
  }
  const auto missing = first_missing(rows, *best);
  const auto near = find_misspelling(*missing, rows, *best);
  return rows.at_header(cat("the column ", *missing, " is missing",
                            near ? cat("; is it the one named ", quoted(*near), "?") : ".",
                            form == TraceForm::kAuto ? " Known forms: " : " The form ",
                            requirements_of(form)));
}

// Unknown columns are an error in a plain trace only: there they are probably misspelt.
Result<void> check_unknown_columns(const TraceRows& rows, const Kind& kind) {
  for (const std::string& column : rows.header()) {
    if (kind.form != TraceForm::kPlain || has_column(kind, column)) continue;
    const auto near = nearest(column, kind.optional);
    return std::unexpected(rows.at_header(cat(
        "the column ", quoted(column), " is not allowed beside ", kind.needed[2],
        near ? cat("; did you mean ", *near, "?") : std::string("."),
        " Allowed: ", join_words(kind.needed), "; optional: ", join_words(kind.optional), ".")));
  }
  return {};
}

Result<TraceForm> detect_form(const TraceRows& rows, TraceForm form) {
  for (const Kind& kind : kinds()) {
    if (form != TraceForm::kAuto && kind.form != form) continue;
    if (first_missing(rows, kind)) continue;
    if (const auto good = check_unknown_columns(rows, kind); !good)
      return std::unexpected(good.error());
    return kind.form;
  }
  return std::unexpected(no_kind(rows, form));
}

Result<void> check_options(const TraceOptions& options) {
  const bool good_speed = options.speed_up > 0 && std::isfinite(options.speed_up);
  if (!good_speed) {
    return invalid("the speed-up of a trace must be a number above 0.");
  }
  const bool good_queries = options.queries_per_task > 0 && options.queries_per_task <= kMaxQueries;
  if (!good_queries) {
    return invalid("the queries per task of a trace must be above 0 and at most 65535.");
  }
  if (!(options.max_tokens > 0))
    return invalid("the maximum number of tokens of a query must be above 0.");
  const auto counts = [](const Share& share) { return share.count > 0; };
  if (options.mix.empty() || options.mix.size() > kMaxShares ||
      !std::ranges::all_of(options.mix, counts)) {
    return invalid("the mix of a trace must name 1 to 64 profiles, each with a count above 0.");
  }
  return {};
}

Result<void> check_tasks(const TraceRows& rows, const Trace& trace) {
  if (!trace.tasks.empty()) return {};
  if (trace.rows == 0) {
    return std::unexpected(rows.at_header("there are no rows below the first line."));
  }
  if (trace.left_out == 0) {
    const BadRow& bad = trace.first_bad.front();
    return std::unexpected(
        rows.at_header(cat("every row is bad; the first, in line ", bad.line, ": ", bad.reason)));
  }
  return std::unexpected(
      rows.at_header(cat("no row can become a task: ", trace.left_out,
                         " left out for having no tokens or too many, ", trace.bad_rows, " bad.")));
}

// Shifts the arrivals so that the first is at 0, and applies the speed-up.
Result<void> set_clock(const TraceRows& rows, double speed_up, std::vector<Task>& tasks) {
  const double first = tasks.front().arrival_s;
  for (Task& task : tasks) task.arrival_s = (task.arrival_s - first) / speed_up;
  if (tasks.back().arrival_s <= kMaxArrivalSeconds) return {};
  return std::unexpected(rows.at_header(
      "the last task would come more than 1e10 seconds after the first; use a larger speed-up."));
}

std::string base_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

}  // namespace

Result<TraceForm> parse_trace_form(std::string_view name) {
  static const std::vector<std::string> names{"auto", "plain", "burstgpt", "azure"};
  const auto found = std::ranges::find(names, name);
  if (found != names.end()) return static_cast<TraceForm>(found - names.begin());
  const auto near = nearest(name, names);
  return invalid(cat("unknown form of trace ", quoted(name),
                     near ? cat("; did you mean ", *near, "?") : std::string("."),
                     " Known: ", join_words(names), "."));
}

Result<Trace> read_trace(std::string_view text, std::string_view file_name,
                         const TraceOptions& options) {
  if (const auto good = check_options(options); !good) return std::unexpected(good.error());
  TraceRows rows(text, file_name, options.skip_bad);
  if (const auto read = rows.read_header(); !read) return std::unexpected(read.error());
  const auto form = detect_form(rows, options.form);
  if (!form) return std::unexpected(form.error());
  Trace trace;
  trace.name = base_name(file_name);
  trace.form = *form;
  const auto read = *form == TraceForm::kPlain ? read_plain(rows, options, trace)
                                               : read_queries(rows, *form, options, trace);
  if (!read) return std::unexpected(read.error());
  if (const auto some = check_tasks(rows, trace); !some) return std::unexpected(some.error());
  const auto set = set_clock(rows, options.speed_up, trace.tasks);
  if (!set) return std::unexpected(set.error());
  return trace;
}

}  // namespace tangram::sim
