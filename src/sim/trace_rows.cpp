// See trace_rows.hpp.
#include "sim/trace_rows.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/check.hpp"
#include "base/text.hpp"

namespace tangram::sim {
namespace {

constexpr std::size_t kMaxBadRowsKept = 5;

// Accepts finite numbers only, without surrounding text.
std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (!std::isfinite(value)) return std::nullopt;
  return value;
}

}  // namespace

double TraceRow::number(const Column& column, const Range& range) {
  const auto value = parse_number(text(column));
  const bool good = value && *value >= range.lowest && *value <= range.highest &&
                    (!range.whole || *value == std::floor(*value));
  if (good) return *value + 0.0;  // no negative zero
  reject(column, range.needed);
  return range.lowest;
}

void TraceRow::reject(const Column& column, std::string_view needed) {
  reject(
      cat("the column ", column.name, " has ", quoted(text(column)), "; ", needed, " is needed."));
}

void TraceRow::reject(std::string problem) {
  if (problem_.empty()) problem_ = std::move(problem);
}

Result<void> TraceRow::result() const {
  if (!good()) return invalid(problem_);
  return {};
}

TraceRows::TraceRows(std::string_view text, std::string_view file_name, bool skip_bad)
    : reader_(text), file_name_(file_name), skip_bad_(skip_bad) {}

Result<void> TraceRows::read_header() {
  if (!reader_.next()) {
    return std::unexpected(at_header("the file is empty; its first line must name the columns."));
  }
  header_line_ = reader_.line();
  if (!reader_.problem().empty()) return std::unexpected(at_header(reader_.problem()));
  header_.assign(reader_.fields().begin(), reader_.fields().end());
  std::vector<std::string_view> sorted(header_.begin(), header_.end());
  std::ranges::sort(sorted);
  const auto twice = std::ranges::adjacent_find(sorted);
  if (twice == sorted.end()) return {};
  return std::unexpected(
      at_header(cat("the first line names the column ", quoted(*twice), " twice.")));
}

std::optional<Column> TraceRows::find(std::string_view name) const {
  const auto found = std::ranges::find(header_, name);
  if (found == header_.end()) return std::nullopt;
  return Column{name, static_cast<std::size_t>(found - header_.begin())};
}

Column TraceRows::needed(std::string_view name) const {
  const auto column = find(name);
  CHECK(column.has_value());
  return *column;
}

Error TraceRows::at_header(std::string_view message) const { return at(header_line_, message); }

Error TraceRows::at(std::uint64_t line, std::string_view message) const {
  return {ErrorCode::kInvalid, cat(printable(file_name_), ':', line, ": ", message)};
}

Result<void> TraceRows::check_row() const {
  if (!reader_.problem().empty()) return invalid(std::string(reader_.problem()));
  const std::size_t there = reader_.fields().size();
  if (there == header_.size()) return {};
  return invalid(cat("the row has ", there, there == 1 ? " field" : " fields",
                     "; the first line names ", header_.size(),
                     header_.size() == 1 ? " column." : " columns."));
}

Result<void> TraceRows::bad_row(Trace& trace, std::string reason) const {
  if (!skip_bad_) return std::unexpected(at(reader_.line(), reason));
  ++trace.bad_rows;
  if (trace.first_bad.size() < kMaxBadRowsKept) {
    trace.first_bad.push_back({reader_.line(), std::move(reason)});
  }
  return {};
}

}  // namespace tangram::sim
