// Syncer: puts on the disk what a Store has committed, and brings the store's log into the store
// before it grows long. Both wait for the disk, so they are for a thread beside the Store's own,
// and nothing may be committed meanwhile. One rule: what was committed before sync() was called is
// on the disk once it has said so.
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

// For one thread at a time, which need not be the Store's; after the Store it is of no use.
class Syncer {
 public:
  explicit Syncer(const Store& store);
  ~Syncer();
  Syncer(const Syncer&) = delete;
  Syncer& operator=(const Syncer&) = delete;
  Syncer(Syncer&&) = delete;
  Syncer& operator=(Syncer&&) = delete;

  // A failure can be tried again. What a disk has failed to take in it may claim to have the next
  // time; so then, and the first time, because nobody knows what was before, the whole log is
  // written anew.
  [[nodiscard]] Result<void> sync();
  // What is on the disk stays there, whatever is said here: the log only goes on growing.
  [[nodiscard]] Result<void> shorten_log();

 private:
  [[nodiscard]] Result<void> open_log();
  [[nodiscard]] Result<void> write_anew() const;

  std::string path_;
  std::shared_ptr<const std::atomic<int>> log_pages_;
  std::optional<files::Descriptor> log_;
  std::unique_ptr<SQLite::Database> db_;  // opened when the log is long
  bool unsure_ = true;                    // the disk may have failed since all was on it
};

}  // namespace tangram::store
