// TomlTable: reads a table of a TOML file key by key. Reading continues after an error: Findings
// keeps the error that is first in the file, and callers check it once, at the end. Messages have
// the form `file:line:column: what is wrong; what is allowed`.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <toml++/toml.h>

#include "base/error.hpp"

namespace tangram::text {

inline constexpr toml::source_position kFirstLine{1, 1};

// `file:line:column: message`
[[nodiscard]] Error error_at(std::string_view file, toml::source_position where,
                             std::string_view message);

// Collects errors and keeps the one that is first in the file.
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

// A value that is missing, has the wrong type or is out of range adds a finding, and the fallback
// is returned. Functions with `_or` read optional keys; an absent one is not an error.
class TomlTable {
 public:
  // `what`: what the table is, for messages: "a model", "a profile". `table` and `findings` must
  // outlive this object.
  TomlTable(const toml::table& table, std::string_view what, Findings& findings);

  [[nodiscard]] toml::source_position where() const { return where_; }
  [[nodiscard]] toml::source_position where(std::string_view key) const;
  [[nodiscard]] bool has(std::string_view key) const { return table_->contains(key); }
  [[nodiscard]] bool is_flag(std::string_view key) const {
    return table_->contains(key) && (*table_)[key].is_boolean();
  }

  [[nodiscard]] std::vector<std::string> keys() const;
  // Adds a finding for every other key.
  void allow_only(std::span<const std::string> keys) const;

  [[nodiscard]] int number(std::string_view key, Range range) const;
  [[nodiscard]] int number_or(std::string_view key, Range range, int absent) const;
  [[nodiscard]] bool flag_or(std::string_view key, bool absent) const;
  [[nodiscard]] std::string text(std::string_view key) const;
  [[nodiscard]] std::string text_or(std::string_view key, std::string_view absent) const;
  [[nodiscard]] std::vector<int> numbers(std::string_view key, Range range) const;
  [[nodiscard]] std::vector<int> numbers_or_none(std::string_view key, Range range) const;
  [[nodiscard]] std::vector<std::string> texts_or_none(std::string_view key) const;
  // The table [key]; nullopt if absent.
  [[nodiscard]] std::optional<TomlTable> table_or_none(std::string_view key,
                                                       std::string_view what) const;
  // The tables of [[key]].
  [[nodiscard]] std::vector<TomlTable> tables(std::string_view key, std::string_view what) const;
  [[nodiscard]] std::vector<TomlTable> tables_or_none(std::string_view key,
                                                      std::string_view what) const;

 private:
  [[nodiscard]] const toml::node* required(std::string_view key) const;
  [[nodiscard]] std::vector<TomlTable> tables_in(std::string_view key, const toml::node* node,
                                                 std::string_view what) const;
  [[nodiscard]] const toml::array* list(std::string_view key, const toml::node* node,
                                        std::string_view of) const;
  [[nodiscard]] int number_of(std::string_view key, const toml::node& node, Range range) const;
  [[nodiscard]] std::string text_of(std::string_view key, const toml::node& node) const;
  void mismatch(std::string_view key, const toml::node& node, std::string_view expected) const;

  const toml::table* table_;
  std::string what_;
  Findings* findings_;
  toml::source_position where_;
};

// Parses a file; the message of a syntax error has its position.
[[nodiscard]] Result<toml::table> parse_toml(std::string_view text, std::string_view file);

}  // namespace tangram::text
