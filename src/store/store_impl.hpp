// Store::Impl. Private to the store. SQLite's exceptions must not leave the store: every use of the
// database is inside guarded() or in_transaction().
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <sqlite3.h>
#include <string>
#include <string_view>
#include <utility>

#include <SQLiteCpp/Database.h>

#include "base/error.hpp"
#include "store/lock_file.hpp"
#include "store/models.hpp"
#include "store/query.hpp"
#include "store/schema.hpp"
#include "store/sqlite_error.hpp"
#include "store/store.hpp"

namespace tangram::store {

inline constexpr std::uint64_t kStepsPerSnapshot = 20'000;

struct Store::Impl {
  Impl(std::string where, std::optional<LockFile> held, SQLite::Database&& opened)
      : path(std::move(where)), lock(std::move(held)), db(std::move(opened)), statements(db) {}

  [[nodiscard]] Query query(const char* sql) { return Query(statements.get(sql)); }
  // Runs `body` and converts SQLite exceptions to errors. `tried`: the verb of the error message.
  template <class Body>
  auto guarded(std::string_view tried, Body body) -> decltype(body()) {
    try {
      return body();
    } catch (const SQLite::Exception& error) {
      return std::unexpected(sqlite_error(error, tried, path));
    }
  }
  // As guarded(), in one transaction that is rolled back if `body` fails.
  template <class Body>
  auto in_transaction(std::string_view tried, Body body) -> decltype(body()) {
    const auto done = guarded(tried, [&] {
      db.exec("BEGIN IMMEDIATE");
      auto result = body();
      if (result) db.exec("COMMIT");
      return result;
    });
    if (!done) roll_back();
    return done;
  }
  void roll_back();
  // Stores a snapshot of the scheduler's tables as of step `at`.
  void write_snapshot(std::uint64_t at);

  std::string path;
  std::optional<LockFile> lock;
  SQLite::Database db;
  Statements statements;
  Models models;
  std::uint64_t sequence = 0;  // of the last step
  std::uint64_t snapshot = 0;  // of the newest snapshot
  std::uint64_t last_event = 0;
  // Length of the WAL in pages; read by WalSync on its own thread.
  std::shared_ptr<std::atomic<int>> wal_pages = std::make_shared<std::atomic<int>>(0);
};

// Makes several reads see the same snapshot, even while a daemon writes. No-op if nested.
class ReadTransaction {
 public:
  explicit ReadTransaction(SQLite::Database& db)
      : db_(sqlite3_get_autocommit(db.getHandle()) != 0 ? &db : nullptr) {
    if (db_ != nullptr) db_->exec("BEGIN");
  }
  ~ReadTransaction() {
    if (db_ != nullptr) db_->tryExec("COMMIT");
  }
  ReadTransaction(const ReadTransaction&) = delete;
  ReadTransaction& operator=(const ReadTransaction&) = delete;
  ReadTransaction(ReadTransaction&&) = delete;
  ReadTransaction& operator=(ReadTransaction&&) = delete;

 private:
  SQLite::Database* db_;
};

// Opens and checks the file. `schema`: current_schema(), except in tests of migrations.
[[nodiscard]] Result<std::unique_ptr<Store::Impl>> open_impl(const std::string& path,
                                                             const OpenOptions& options,
                                                             const Schema& schema);

}  // namespace tangram::store
