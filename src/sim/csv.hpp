// CSV as in external traces: fields separated by commas, a field in double quotes if it contains a
// comma or a quote (RFC 4180), LF or CRLF, optionally a byte order mark at the beginning. A row is
// one line: a quoted field must not contain a line break, so that a missing quote affects one row
// only and line numbers are right.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::sim {

inline constexpr std::size_t kMaxCsvLineBytes = 65536;  // bytes

class CsvReader {
 public:
  explicit CsvReader(std::string_view text);  // must outlive the reader

  // Reads the next line that is not empty; false at the end.
  [[nodiscard]] bool next();

  [[nodiscard]] std::uint64_t line() const { return line_; }  // from 1
  // Valid until next(); empty if the line has a problem.
  [[nodiscard]] std::span<const std::string_view> fields() const { return fields_; }
  // Why the line cannot be read; empty if it can.
  [[nodiscard]] std::string_view problem() const { return problem_; }

 private:
  std::string_view take_line();
  void split(std::string_view line);
  void split_quoted(std::string_view line);
  std::size_t take_quoted(std::string_view line, std::size_t open);
  void reject(std::string_view problem);

  std::string_view rest_;
  std::uint64_t line_ = 0;
  std::vector<std::string_view> fields_;
  std::string_view problem_;
  std::string unescaped_;  // the values of fields with doubled quotes
};

}  // namespace tangram::sim
