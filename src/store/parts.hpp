// The inside of a Store. Private to the store. One rule: SQLite's exceptions end in guarded().
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

struct Store::Parts {
  Parts(std::string where, std::optional<LockFile> held, SQLite::Database&& opened)
      : path(std::move(where)), lock(std::move(held)), db(std::move(opened)), statements(db) {}

  [[nodiscard]] Query query(const char* sql) { return Query(statements.get(sql)); }
  // Runs what may throw; `tried` is the verb of the message.
  template <class Body>
  auto guarded(std::string_view tried, Body body) -> decltype(body()) {
    try {
      return body();
    } catch (const SQLite::Exception& error) {
      return std::unexpected(sqlite_error(error, tried, path));
    }
  }
  // The same in one transaction: all of it or nothing.
  template <class Body>
  auto in_transaction(std::string_view tried, Body body) -> decltype(body()) {
    const auto done = guarded(tried, [&] {
      db.exec("BEGIN IMMEDIATE");
      auto result = body();
      if (result) db.exec("COMMIT");
      return result;
    });
    if (!done) take_back();
    return done;
  }
  void take_back();
  // A snapshot of the scheduler's tables as of that step.
  void take_snapshot(std::uint64_t at);

  std::string path;
  std::optional<LockFile> lock;
  SQLite::Database db;
  Statements statements;
  Models models;
  std::uint64_t sequence = 0;  // of the last step
  std::uint64_t snapshot = 0;  // of the newest snapshot
  std::uint64_t last_event = 0;
  // How long the log is, for whoever brings it in (syncer.hpp).
  std::shared_ptr<std::atomic<int>> log_pages = std::make_shared<std::atomic<int>>(0);
};

// Several reads of one moment, also while a daemon writes. Within another one it does nothing.
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

// Opens and checks the file; `schema` is current_schema() but in tests of migrations.
[[nodiscard]] Result<std::unique_ptr<Store::Parts>> open_parts(const std::string& path,
                                                               const OpenOptions& options,
                                                               const Schema& schema);

}  // namespace tangram::store
