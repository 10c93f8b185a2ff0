// Error and Result: how a function that can fail says so at a border (user input, files,
// hardware). An Error is for people: it says what was tried, on what, why it failed and what
// to do. One rule: our own mistakes are not Errors, they are CHECKs (base/check.hpp).
#pragma once

#include <expected>
#include <string>
#include <utility>

namespace tangram {

enum class ErrorCode {
  kInvalid,      // the input is wrong: the caller must change it
  kNotFound,     // what was named does not exist
  kUnavailable,  // could work later: busy, no room, not reachable
  kFailed,       // the outside world (driver, file system, process) said no
};

struct Error {
  ErrorCode code = ErrorCode::kFailed;
  std::string message;

  friend bool operator==(const Error&, const Error&) = default;
};

template <class T>
using Result = std::expected<T, Error>;

inline std::unexpected<Error> invalid(std::string message) {
  return std::unexpected(Error{ErrorCode::kInvalid, std::move(message)});
}
inline std::unexpected<Error> not_found(std::string message) {
  return std::unexpected(Error{ErrorCode::kNotFound, std::move(message)});
}
inline std::unexpected<Error> failed(std::string message) {
  return std::unexpected(Error{ErrorCode::kFailed, std::move(message)});
}

}  // namespace tangram
