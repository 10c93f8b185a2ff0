// Section: a section of the configuration file, with types that TOML does not have. Private to the
// configuration.
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "api/job.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "text/toml_table.hpp"

namespace tangram::daemon {

inline constexpr int kMaxCount = 1'000'000'000;

class Section {
 public:
  Section(const text::TomlTable& table, text::Findings& findings)
      : table_(table), findings_(findings) {}

  void allow(std::initializer_list<const char*> keys) const {
    const std::vector<std::string> names(keys.begin(), keys.end());
    table_.allow_only(names);
  }
  void read(const char* key, std::string& value) const { value = table_.text_or(key, value); }
  void read(const char* key, bool& value) const { value = table_.flag_or(key, value); }
  void read(const char* key, std::chrono::milliseconds& value) const {
    read_parsed(key, api::duration_text(value), api::parse_duration, value);
  }
  void read_bytes(const char* key, std::uint64_t& value) const {
    const std::string text = table_.text_or(key, "");
    if (text.empty()) return;
    keep(key, api::parse_bytes(text), value);
  }
  template <class T>
  void read_number(const char* key, text::Range range, T& value) const {
    value = static_cast<T>(table_.number_or(key, range, static_cast<int>(value)));
  }
  [[nodiscard]] bool has(const char* key) const { return table_.has(key); }
  // Calls `read` with the section and the name of each table [section.key.NAME].
  template <class Read>
  void each_table(const char* key, const char* what, Read read) const {
    const auto tables = table_.table_or_none(key, what);
    if (!tables) return;
    for (const std::string& name : tables->keys()) {
      const auto table = tables->table_or_none(name, cat("[", key, ".", name, "]"));
      if (table) read(Section(*table, findings_), name);
    }
  }
  template <class T>
  void keep(const char* key, const Result<T>& result, T& value) const {
    if (result) {
      value = *result;
    } else {
      add_error(key, result.error().message);
    }
  }
  void add_error(const char* key, const std::string& message) const {
    findings_.add(table_.where(key), cat(key, ": ", message));
  }
  [[nodiscard]] const text::TomlTable& table() const { return table_; }

 private:
  template <class T, class Parse>
  void read_parsed(const char* key, const std::string& absent, Parse parse, T& value) const {
    const std::string text = table_.text_or(key, absent);
    if (text != absent) keep(key, parse(text), value);
  }

  const text::TomlTable& table_;
  text::Findings& findings_;
};

}  // namespace tangram::daemon
