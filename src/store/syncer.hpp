// Syncer: puts on the disk what a Store has committed, and brings the store's log into the store
// before it grows long. Both wait for the disk, so they are for a thread beside the Store's own.
// One rule: what was committed before sync() was called is on the disk once it has said so.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "files/descriptor.hpp"

namespace SQLite {
class Database;
}

namespace tangram::store {

class Store;

// What is on the disk is safe, whatever is said here.
struct Synced {
  std::string log_trouble;  // why the log could not be brought in, and goes on growing; empty: fine
};

// For one thread at a time, which need not be the Store's; after the Store it is of no use.
class Syncer {
 public:
  explicit Syncer(const Store& store);
  ~Syncer();
  Syncer(const Syncer&) = delete;
  Syncer& operator=(const Syncer&) = delete;
  Syncer(Syncer&&) = delete;
  Syncer& operator=(Syncer&&) = delete;

  // A failure can be tried again. What a disk has failed to write it may claim to have the next
  // time; so then, and the first time, because nobody knows what was before, the whole log is
  // brought into the store, which writes it anew.
  [[nodiscard]] Result<Synced> sync();

 private:
  [[nodiscard]] Result<void> sync_log();
  // All of it (and nothing is written meanwhile), or what nobody is in the way of.
  [[nodiscard]] Result<void> bring_in(bool all);

  std::string path_;
  std::shared_ptr<const std::atomic<int>> log_pages_;
  std::optional<files::Descriptor> log_;
  std::unique_ptr<SQLite::Database> db_;  // opened when there is something to bring in
  bool unsure_ = true;                    // it may have failed since all was on it
};

}  // namespace tangram::store
