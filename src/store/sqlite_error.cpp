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
              "the disk is full. Nothing was changed; free some space and it goes on."};
    case SQLITE_READONLY:
      return {ErrorCode::kFailed,
              "it cannot be written. Check who owns the file and its folder, and whether the file "
              "system is mounted read-only."};
    case SQLITE_IOERR:
      return {ErrorCode::kFailed, cat("the disk reported an error (", error.getErrorStr(),
                                      "). Look at the kernel's log; nothing was changed.")};
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return {ErrorCode::kFailed,
              cat("it is damaged (", error.getErrorStr(), "). ", how_to_recover(path))};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {ErrorCode::kUnavailable,
              "another program has it locked. Find it with `fuser` and try again."};
    case SQLITE_CANTOPEN:
      return {ErrorCode::kFailed,
              "it cannot be opened. Check that its folder exists and who may read and write it."};
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return {ErrorCode::kFailed, "permission is denied. Check who owns the file."};
    case SQLITE_NOMEM:
      return {ErrorCode::kUnavailable, "there is no memory left."};
    default:
      return {ErrorCode::kFailed,
              cat(printable(error.what()), " (SQLite error ", error.getErrorCode(), ").")};
  }
}

}  // namespace

std::string how_to_recover(const std::string& path) {
  return cat("Put a backup in its place with `tangram store restore`, or move ", path,
             " away to begin with an empty store; running jobs go on, but are forgotten.");
}

Error sqlite_error(const SQLite::Exception& error, std::string_view tried,
                   const std::string& path) {
  const Meaning meaning = meaning_of(error, path);
  return {meaning.code, cat("cannot ", tried, " the store ", path, ": ", meaning.why)};
}

}  // namespace tangram::store
