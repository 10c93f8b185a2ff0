// TomlTable: one table of a file that people write, read key by key with its place in the file.
// Readers do not stop at a mistake: Findings keeps the one that stands first in the file, and the
// caller asks once, at the end. One rule: every message is `file:line:column: what is wrong; what
// is allowed`.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <toml++/toml.h>

#include "base/error.hpp"

namespace tangram::files {

inline constexpr toml::source_position kFirstLine{1, 1};

// `file:line:column: message`
[[nodiscard]] Error error_at(std::string_view file, toml::source_position where,
                             std::string_view message);

// The mistake that stands first in the file, if any.
class Findings {
 public:
  explicit Findings(std::string_view file) : file_(file) {}

  void add(toml::source_position where, std::string message);
  [[nodiscard]] std::optional<Error> first() const;

 private:
  struct Finding {
    toml::source_position where;
    std::string message;
  };
  std::string file_;
  std::optional<Finding> first_;
};

struct Range {
  int lowest;
  int highest;
};

// Values that are missing, of the wrong type or out of range become a finding and come back as
// the fallback; an absent optional key is no mistake.
class TomlTable {
 public:
  // `what` names the table in messages: "a model", "a profile".
  TomlTable(const toml::table& table, std::string_view what, Findings& findings);

  [[nodiscard]] toml::source_position where() const { return where_; }
  [[nodiscard]] toml::source_position where(std::string_view key) const;

  // A key that is none of these is a finding.
  void allow_only(std::span<const std::string> keys) const;

  [[nodiscard]] int number(std::string_view key, Range range) const;
  [[nodiscard]] int number_or(std::string_view key, Range range, int absent) const;
  [[nodiscard]] bool flag_or(std::string_view key, bool absent) const;
  [[nodiscard]] std::string text(std::string_view key) const;
  [[nodiscard]] std::string text_or(std::string_view key, std::string_view absent) const;
  [[nodiscard]] std::vector<int> numbers(std::string_view key, Range range) const;
  [[nodiscard]] std::vector<int> numbers_or_none(std::string_view key, Range range) const;
  [[nodiscard]] std::vector<std::string> texts_or_none(std::string_view key) const;
  // The table [key], if it is there.
  [[nodiscard]] std::optional<TomlTable> table_or_none(std::string_view key,
                                                       std::string_view what) const;
  // The tables of [[key]].
  [[nodiscard]] std::vector<TomlTable> tables(std::string_view key, std::string_view what) const;
  [[nodiscard]] std::vector<TomlTable> tables_or_none(std::string_view key,
                                                      std::string_view what) const;

 private:
  [[nodiscard]] const toml::node* needed(std::string_view key) const;
  [[nodiscard]] std::vector<TomlTable> tables_in(std::string_view key, const toml::node* node,
                                                 std::string_view what) const;
  [[nodiscard]] const toml::array* list(std::string_view key, const toml::node* node,
                                        std::string_view of) const;
  [[nodiscard]] int number_of(std::string_view key, const toml::node& node, Range range) const;
  [[nodiscard]] std::string text_of(std::string_view key, const toml::node& node) const;
  void mismatch(std::string_view key, const toml::node& node, std::string_view needed) const;

  const toml::table* table_;
  std::string what_;
  Findings* findings_;
  toml::source_position where_;
};

// The parsed file; a syntax error has its place like any other mistake.
[[nodiscard]] Result<toml::table> parse_toml(std::string_view text, std::string_view file);

}  // namespace tangram::files
