// See sqlite_error.hpp.
#include "store/sqlite_error.hpp"

#include <sqlite3.h>

#include "base/text.hpp"

namespace tangram::store {
namespace {

struct Meaning {
  ErrorCode code;
  std::string why;
};

Meaning meaning_of(const SQLite::Exception& error, const std::string& path) {
  constexpr int kPrimary = 0xFF;  // the rest of an extended code is detail
  switch (error.getErrorCode() & kPrimary) {
    case SQLITE_FULL:
      return {ErrorCode::kUnavailable,
              "the disk is full; nothing was changed: free some space (it is retried)"};
    case SQLITE_READONLY:
      return {ErrorCode::kFailed,
              "it cannot be written; check the owner of the file and its folder, and whether the "
              "file system is mounted read-only"};
    case SQLITE_IOERR:
      return {ErrorCode::kFailed, cat("the disk reported an error (", error.getErrorStr(),
                                      "); nothing was changed: check the kernel log")};
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return {ErrorCode::kFailed,
              cat("it is damaged (", error.getErrorStr(), "). ", recovery_hint(path))};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {ErrorCode::kUnavailable,
              "it is locked by another program; find it with `fuser` and try again"};
    case SQLITE_CANTOPEN:
      return {ErrorCode::kFailed,
              "it cannot be opened; check that its folder exists and its permissions"};
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return {ErrorCode::kFailed, "permission denied; check the owner of the file"};
    case SQLITE_NOMEM:
      return {ErrorCode::kUnavailable, "out of memory"};
    default:
      return {ErrorCode::kFailed,
              cat(printable(error.what()), " (SQLite error ", error.getErrorCode(), ")")};
  }
}

}  // namespace

std::string recovery_hint(const std::string& path) {
  return cat("Restore a backup with `tangram store restore`, or move ", path,
             "* away to start with an empty store; running jobs then continue as orphans (`tangram "
             "orphan list`), logs and checkpoints are moved to lost+found.");
}

Error sqlite_error(const SQLite::Exception& error, std::string_view tried,
                   const std::string& path) {
  const Meaning meaning = meaning_of(error, path);
  return {meaning.code, cat("cannot ", tried, " the store ", path, ": ", meaning.why)};
}

}  // namespace tangram::store
