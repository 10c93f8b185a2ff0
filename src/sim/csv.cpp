// See csv.hpp.
#include "sim/csv.hpp"

#include <algorithm>

namespace tangram::sim {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::string_view kTooLong = "the line is longer than 65536 bytes.";
static_assert(kMaxCsvLineBytes == 65536);
constexpr std::string_view kNul = "the line has a NUL byte; a CSV file is text.";
constexpr std::string_view kStrayReturn =
    "the line has a carriage return before its end; lines end in LF or CRLF.";
constexpr std::string_view kStrayQuote =
    "a field has a double quote in its middle; put the field in quotes and double those inside.";
constexpr std::string_view kNoEnd = "a field in quotes does not end in its line.";
constexpr std::string_view kAfterQuote =
    "text after the closing quote of a field; quotes inside a field must be doubled.";

bool has(std::string_view line, char c) { return line.find(c) != std::string_view::npos; }

// Checks a line before it is split into fields.
std::string_view problem_of(std::string_view line) {
  if (line.size() > kMaxCsvLineBytes) return kTooLong;
  if (has(line, '\0')) return kNul;
  if (has(line, '\r')) return kStrayReturn;
  return {};
}

}  // namespace

CsvReader::CsvReader(std::string_view text) : rest_(text) {
  if (rest_.starts_with(kByteOrderMark)) rest_.remove_prefix(kByteOrderMark.size());
}

bool CsvReader::next() {
  fields_.clear();
  problem_ = {};
  while (!rest_.empty()) {
    const std::string_view line = take_line();
    if (line.empty()) continue;
    split(line);
    return true;
  }
  return false;
}

std::string_view CsvReader::take_line() {
  ++line_;
  const std::size_t end = std::min(rest_.find('\n'), rest_.size());
  std::string_view line = rest_.substr(0, end);
  rest_.remove_prefix(std::min(end + 1, rest_.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

void CsvReader::reject(std::string_view problem) {
  problem_ = problem;
  fields_.clear();
}

void CsvReader::split(std::string_view line) {
  problem_ = problem_of(line);
  if (!problem_.empty()) return;
  if (has(line, '"')) {
    split_quoted(line);
    return;
  }
  for (std::size_t at = 0; at <= line.size();) {
    const std::size_t comma = std::min(line.find(',', at), line.size());
    fields_.push_back(line.substr(at, comma - at));
    at = comma + 1;
  }
}

void CsvReader::split_quoted(std::string_view line) {
  unescaped_.clear();
  unescaped_.reserve(line.size());  // keeps the views in fields_ valid
  for (std::size_t at = 0; at <= line.size();) {
    std::size_t end = std::min(line.find(',', at), line.size());
    if (at < line.size() && line[at] == '"') {
      end = take_quoted(line, at);
    } else {
      fields_.push_back(line.substr(at, end - at));
      if (has(fields_.back(), '"')) reject(kStrayQuote);
    }
    if (!problem_.empty()) return;
    at = end + 1;
  }
}

// Returns the position of the next comma, or the end of the line.
std::size_t CsvReader::take_quoted(std::string_view line, std::size_t open) {
  const std::size_t begin = unescaped_.size();
  bool doubled = false;
  for (std::size_t at = open + 1;;) {
    const std::size_t quote = line.find('"', at);
    if (quote == std::string_view::npos) {
      reject(kNoEnd);
      return line.size();
    }
    const std::string_view part = line.substr(at, quote - at);
    const std::size_t after = quote + 1;
    if (after < line.size() && line[after] == '"') {
      unescaped_.append(part).push_back('"');
      doubled = true;
      at = after + 1;
      continue;
    }
    if (after < line.size() && line[after] != ',') reject(kAfterQuote);
    if (!problem_.empty()) return line.size();
    if (doubled) unescaped_.append(part);
    fields_.push_back(doubled ? std::string_view(unescaped_).substr(begin) : part);
    return after;
  }
}

}  // namespace tangram::sim
