// The rows of a trace, whatever its form: which column is where, what a field may hold, and the
// account of bad rows. It exists so that each form says only what its columns mean. One rule: the
// first mistake of a row is its reason, and it names the column, what is there and what is needed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "sim/csv.hpp"
#include "sim/traces.hpp"

namespace tangram::sim {

struct Column {
  std::string_view name;  // outlives the reading
  std::size_t at = 0;
};

// What a number may be, and how a message says so.
struct Range {
  double lowest;
  double highest;
  bool whole;
  std::string_view needed;
};

// Reads the fields of one row and keeps the first problem; what it returns after one is of no use.
class TraceRow {
 public:
  explicit TraceRow(std::span<const std::string_view> fields) : fields_(fields) {}

  [[nodiscard]] std::string_view text(const Column& column) const { return fields_[column.at]; }
  [[nodiscard]] double number(const Column& column, const Range& range);
  // "the column X has 'Y'; a Z is needed."
  void refuse(const Column& column, std::string_view needed);
  void refuse(std::string problem);

  [[nodiscard]] bool good() const { return problem_.empty(); }
  [[nodiscard]] Result<void> result() const;

 private:
  std::span<const std::string_view> fields_;
  std::string problem_;
};

class TraceRows {
 public:
  TraceRows(std::string_view text, std::string_view file_name, bool skip_bad);

  [[nodiscard]] Result<void> read_header();
  [[nodiscard]] const std::vector<std::string>& header() const { return header_; }
  [[nodiscard]] std::optional<Column> find(std::string_view name) const;
  // A column that is known to be there.
  [[nodiscard]] Column needed(std::string_view name) const;

  // An error in the header or about the file as a whole.
  [[nodiscard]] Error at_header(std::string_view message) const;

  // Calls take(TraceRow&) for every row. A row that it refuses is bad.
  template <class Take>
  [[nodiscard]] Result<void> each(Trace& trace, Take take) {
    while (reader_.next()) {
      ++trace.rows;
      Result<void> taken = check_row();
      if (taken) {
        TraceRow row(reader_.fields());
        take(row);
        if (!row.good()) taken = row.result();
      }
      if (!taken) taken = bad_row(trace, std::move(taken.error().message));
      if (!taken) return taken;
    }
    return {};
  }

 private:
  [[nodiscard]] Error at(std::uint64_t line, std::string_view message) const;
  [[nodiscard]] Result<void> check_row() const;
  [[nodiscard]] Result<void> bad_row(Trace& trace, std::string reason) const;

  CsvReader reader_;
  std::string_view file_name_;
  bool skip_bad_;
  std::uint64_t header_line_ = 1;
  std::vector<std::string> header_;
};

// Brings rows into the order of their arrival; those of one time keep theirs. Not by stable_sort:
// clang refuses that of g++ 12 as deprecated.
template <class Row>
void sort_by_arrival(std::vector<Row>& rows) {
  if (std::ranges::is_sorted(rows, {}, &Row::arrival_s)) return;
  std::vector<std::pair<double, std::size_t>> order;
  order.reserve(rows.size());
  for (const Row& row : rows) order.emplace_back(row.arrival_s, order.size());
  std::ranges::sort(order);
  std::vector<Row> sorted;
  sorted.reserve(rows.size());
  for (const auto& [arrival_s, at] : order) sorted.push_back(rows[at]);
  rows = std::move(sorted);
}

// The forms. Each adds its tasks by arrival, not yet shifted or sped up, and fills the counts.
[[nodiscard]] Result<void> read_plain(TraceRows& rows, const TraceOptions& options, Trace& trace);
[[nodiscard]] Result<void> read_queries(TraceRows& rows, TraceForm form,
                                        const TraceOptions& options, Trace& trace);

}  // namespace tangram::sim
