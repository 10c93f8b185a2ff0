// The rows of a trace of any form: which column is where, which values a field may have, and the
// count of bad rows. The first problem of a row is its reason; it names the column, the value and
// what is needed.
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
  std::string_view name;  // outlives the reader
  std::size_t at = 0;
};

// The allowed range of a number, and its text in messages.
struct Range {
  double lowest;
  double highest;
  bool whole;
  std::string_view needed;
};

// Reads the fields of one row and keeps the first problem; values returned after one are
// meaningless.
class TraceRow {
 public:
  explicit TraceRow(std::span<const std::string_view> fields) : fields_(fields) {}

  [[nodiscard]] std::string_view text(const Column& column) const { return fields_[column.at]; }
  [[nodiscard]] double number(const Column& column, const Range& range);
  // "the column X has 'Y'; a Z is needed."
  void reject(const Column& column, std::string_view needed);
  void reject(std::string problem);

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
  // Returns a column that is known to exist.
  [[nodiscard]] Column needed(std::string_view name) const;

  // An error in the header or of the file as a whole.
  [[nodiscard]] Error at_header(std::string_view message) const;

  // Calls take(TraceRow&) for every row. A row that `take` rejects is bad.
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

// Sorts rows by arrival, stably. Not by stable_sort: clang rejects that of g++ 12 as deprecated.
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

// Readers of the forms. Each adds its tasks by arrival, not yet shifted or sped up, and fills the
// counts.
[[nodiscard]] Result<void> read_plain(TraceRows& rows, const TraceOptions& options, Trace& trace);
[[nodiscard]] Result<void> read_queries(TraceRows& rows, TraceForm form,
                                        const TraceOptions& options, Trace& trace);

}  // namespace tangram::sim
