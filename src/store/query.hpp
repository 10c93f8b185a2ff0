// Query and Statements: cached prepared statements. Private to the store. A Query resets its
// statement when it is destroyed, so that no read transaction stays open.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include "base/id.hpp"
#include "store/store.hpp"

namespace tangram::store {

class Query {
 public:
  explicit Query(SQLite::Statement& statement) : statement_(statement) {}
  ~Query() { statement_.tryReset(); }
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;
  Query(Query&&) = delete;
  Query& operator=(Query&&) = delete;

  // Binds all parameters in order. Strings are not copied and must outlive the query.
  template <class... Values>
  Query& bind(const Values&... values) {
    statement_.clearBindings();
    int at = 0;
    (bind_one(++at, values), ...);
    return *this;
  }
  void run() {
    statement_.exec();
    statement_.reset();
  }
  [[nodiscard]] bool next() { return statement_.executeStep(); }
  [[nodiscard]] int changes() const { return statement_.getChanges(); }

  // Reads the next column of the row.
  template <class T>
  void read(T& value) {
    read_column(column_++, value);
  }
  template <class... Values>
  Query& row(Values&... values) {
    column_ = 0;
    (read(values), ...);
    return *this;
  }
  template <class T>
  [[nodiscard]] T column(int at) {
    T value{};
    read_column(at, value);
    return value;
  }

 private:
  void bind_one(int at, const std::string& value) { statement_.bindNoCopy(at, value); }
  void bind_one(int at, WallTime value) {
    statement_.bind(at, static_cast<std::int64_t>(value.time_since_epoch().count()));
  }
  void bind_one(int at, std::chrono::microseconds value) {
    statement_.bind(at, static_cast<std::int64_t>(value.count()));
  }
  void bind_one(int at, std::integral auto value) {
    statement_.bind(at, static_cast<std::int64_t>(value));
  }
  template <class T>
  void bind_one(int at, const std::optional<T>& value) {
    if (value) bind_one(at, *value);
  }

  void read_column(int at, std::string& value) { value = statement_.getColumn(at).getString(); }
  void read_column(int at, WallTime& value) {
    value = WallTime(std::chrono::microseconds(statement_.getColumn(at).getInt64()));
  }
  void read_column(int at, std::chrono::microseconds& value) {
    value = std::chrono::microseconds(statement_.getColumn(at).getInt64());
  }
  template <std::integral T>
  void read_column(int at, T& value) {
    value = static_cast<T>(statement_.getColumn(at).getInt64());
  }
  template <class T>
  void read_column(int at, std::optional<T>& value) {
    value.reset();
    if (!statement_.isColumnNull(at)) read_column(at, value.emplace());
  }

  SQLite::Statement& statement_;
  int column_ = 0;
};

class Statements {
 public:
  explicit Statements(SQLite::Database& db) : db_(db) {}

  // The prepared statement for `sql`, which must be a string literal. At most one Query may use it
  // at a time.
  [[nodiscard]] SQLite::Statement& get(const char* sql) {
    auto at = kept_.find(sql);
    if (at == kept_.end()) at = kept_.try_emplace(sql, db_, sql).first;
    return at->second;
  }

 private:
  SQLite::Database& db_;
  std::map<std::string_view, SQLite::Statement> kept_;
};

}  // namespace tangram::store
