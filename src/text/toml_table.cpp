// See toml_table.hpp.
#include "text/toml_table.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace tangram::text {
namespace {

std::string_view type_name(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "a list";
    case toml::node_type::string:
      return "a string";
    case toml::node_type::integer:
      return "a whole number";
    case toml::node_type::floating_point:
      return "a fractional number";
    case toml::node_type::boolean:
      return "true or false";
    default:
      return "a date or time";
  }
}

toml::source_position position_of(const toml::source_region& region) {
  return region.begin ? region.begin : kFirstLine;
}

bool before(toml::source_position a, toml::source_position b) {
  return a.line != b.line ? a.line < b.line : a.column < b.column;
}

}  // namespace

Error error_at(std::string_view file, toml::source_position where, std::string_view message) {
  return {ErrorCode::kInvalid,
          cat(printable(file), ':', where.line, ':', where.column, ": ", message)};
}

void Findings::add(toml::source_position where, std::string message) {
  if (first_ && !before(where, first_->where)) return;
  first_ = {where, std::move(message)};
}

std::optional<Error> Findings::first() const {
  if (!first_) return std::nullopt;
  return error_at(file_, first_->where, first_->message);
}

TomlTable::TomlTable(const toml::table& table, std::string_view what, Findings& findings)
    : table_(&table), what_(what), findings_(&findings), where_(position_of(table.source())) {}

toml::source_position TomlTable::where(std::string_view key) const {
  const toml::node* node = table_->get(key);
  return node == nullptr ? where_ : position_of(node->source());
}

std::vector<std::string> TomlTable::keys() const {
  std::vector<std::string> names;
  for (const auto& [key, value] : *table_) names.emplace_back(key.str());
  return names;
}

void TomlTable::allow_only(std::span<const std::string> keys) const {
  for (const auto& [key, value] : *table_) {
    const std::string_view name = key.str();
    if (std::ranges::find(keys, name) != keys.end()) continue;
    const auto near = nearest(name, keys);
    findings_->add(position_of(key.source()),
                   cat("unknown key ", quoted(name),
                       near ? cat("; did you mean ", *near, "?") : std::string("."), " ", what_,
                       " has the keys ", join_words(keys), "."));
  }
}

int TomlTable::number(std::string_view key, Range range) const {
  const toml::node* node = required(key);
  return node == nullptr ? range.lowest : number_of(key, *node, range);
}

int TomlTable::number_or(std::string_view key, Range range, int absent) const {
  const toml::node* node = table_->get(key);
  return node == nullptr ? absent : number_of(key, *node, range);
}

bool TomlTable::flag_or(std::string_view key, bool absent) const {
  const toml::node* node = table_->get(key);
  if (node == nullptr) return absent;
  if (const auto* flag = node->as_boolean()) return flag->get();
  mismatch(key, *node, "true or false");
  return absent;
}

std::string TomlTable::text(std::string_view key) const {
  const toml::node* node = required(key);
  return node == nullptr ? "" : text_of(key, *node);
}

std::string TomlTable::text_or(std::string_view key, std::string_view absent) const {
  const toml::node* node = table_->get(key);
  return node == nullptr ? std::string(absent) : text_of(key, *node);
}

std::optional<TomlTable> TomlTable::table_or_none(std::string_view key,
                                                  std::string_view what) const {
  const toml::node* node = table_->get(key);
  if (node == nullptr) return std::nullopt;
  if (const toml::table* table = node->as_table()) return TomlTable(*table, what, *findings_);
  mismatch(key, *node, cat("a table, written as [", key, "]"));
  return std::nullopt;
}

std::vector<int> TomlTable::numbers(std::string_view key, Range range) const {
  const toml::array* array = list(key, required(key), "whole numbers");
  if (array != nullptr && array->empty()) {
    findings_->add(position_of(array->source()), cat(key, " is an empty list; give at least one."));
  }
  return array == nullptr ? std::vector<int>() : numbers_or_none(key, range);
}

std::vector<int> TomlTable::numbers_or_none(std::string_view key, Range range) const {
  std::vector<int> values;
  const toml::array* array = list(key, table_->get(key), "whole numbers");
  if (array == nullptr) return values;
  for (const toml::node& element : *array) values.push_back(number_of(key, element, range));
  return values;
}

std::vector<std::string> TomlTable::texts_or_none(std::string_view key) const {
  std::vector<std::string> values;
  const toml::array* array = list(key, table_->get(key), "strings");
  if (array == nullptr) return values;
  for (const toml::node& element : *array) {
    std::string text = text_of(key, element);
    if (element.is_string()) values.push_back(std::move(text));
  }
  return values;
}

std::vector<TomlTable> TomlTable::tables(std::string_view key, std::string_view what) const {
  return tables_in(key, required(key), what);
}

std::vector<TomlTable> TomlTable::tables_or_none(std::string_view key,
                                                 std::string_view what) const {
  return tables_in(key, table_->get(key), what);
}

std::vector<TomlTable> TomlTable::tables_in(std::string_view key, const toml::node* node,
                                            std::string_view what) const {
  std::vector<TomlTable> tables;
  const std::string form = cat("tables, written as [[", key, "]]");
  const toml::array* array = list(key, node, form);
  if (array == nullptr) return tables;
  for (const toml::node& element : *array) {
    if (const toml::table* table = element.as_table()) {
      tables.emplace_back(*table, what, *findings_);
    } else {
      mismatch(key, element, form);
    }
  }
  return tables;
}

const toml::node* TomlTable::required(std::string_view key) const {
  const toml::node* node = table_->get(key);
  if (node == nullptr) findings_->add(where_, cat(what_, " needs the key ", key, "."));
  return node;
}

const toml::array* TomlTable::list(std::string_view key, const toml::node* node,
                                   std::string_view of) const {
  if (node == nullptr) return nullptr;
  if (node->as_array() == nullptr) mismatch(key, *node, cat("a list of ", of));
  return node->as_array();
}

int TomlTable::number_of(std::string_view key, const toml::node& node, Range range) const {
  const auto* number = node.as_integer();
  const std::string allowed = cat("from ", range.lowest, " to ", range.highest);
  if (number == nullptr) {
    mismatch(key, node, cat("a whole number ", allowed));
    return range.lowest;
  }
  if (number->get() < range.lowest || number->get() > range.highest) {
    findings_->add(position_of(node.source()),
                   cat(key, " is ", number->get(), "; allowed: ", allowed, "."));
    return range.lowest;
  }
  return static_cast<int>(number->get());
}

std::string TomlTable::text_of(std::string_view key, const toml::node& node) const {
  if (const auto* text = node.as_string()) return text->get();
  mismatch(key, node, "a string");
  return "";
}

void TomlTable::mismatch(std::string_view key, const toml::node& node,
                         std::string_view expected) const {
  findings_->add(position_of(node.source()),
                 cat(key, " is ", type_name(node), "; needed: ", expected, "."));
}

// Debian's toml++ is built with exceptions; they are caught here.
Result<toml::table> parse_toml(std::string_view text, std::string_view file) {
  try {
    return toml::parse(text, file);
  } catch (const toml::parse_error& e) {
    return std::unexpected(error_at(file, position_of(e.source()),
                                    cat("not valid TOML: ", printable(e.description()))));
  }
}

}  // namespace tangram::text
