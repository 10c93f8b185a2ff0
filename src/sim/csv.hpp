// CSV, as other people's traces come: lines of fields parted by commas, a field in double quotes if
// it holds a comma or a quote (RFC 4180), LF or CRLF, a byte order mark at most at the beginning.
// It exists because traces are large and nothing of the standard library splits a line. One rule: a
// row is one line. A quoted field may not go on in the next, so that a forgotten quote spoils one
// row and every line number is true.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::sim {

inline constexpr std::size_t kLongestCsvLine = 65536;  // bytes

class CsvReader {
 public:
  explicit CsvReader(std::string_view text);  // which outlives the reader

  // Goes to the next line that is not empty; false: there is none.
  [[nodiscard]] bool next();

  [[nodiscard]] std::uint64_t line() const { return line_; }  // from 1
  // Valid until next(); none if the line has a problem.
  [[nodiscard]] std::span<const std::string_view> fields() const { return fields_; }
  // Why the line cannot be read; empty: it can.
  [[nodiscard]] std::string_view problem() const { return problem_; }

 private:
  std::string_view take_line();
  void split(std::string_view line);
  void split_quoted(std::string_view line);
  std::size_t take_quoted(std::string_view line, std::size_t open);
  void refuse(std::string_view problem);

  std::string_view rest_;
  std::uint64_t line_ = 0;
  std::vector<std::string_view> fields_;
  std::string_view problem_;
  std::string unescaped_;  // what fields with doubled quotes stand for
};

}  // namespace tangram::sim
