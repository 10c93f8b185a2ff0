// Error and Result: the result of functions that can fail because of user input, files, hardware or
// the network. An error message is for people: cause first, then what to do. Bugs are not Errors
// but CHECKs (base/check.hpp).
#pragma once

#include <expected>
#include <string>
#include <utility>

namespace tangram {

enum class ErrorCode {
  kInvalid,      // invalid input: the caller must change it
  kNotFound,     // the named object does not exist
  kUnavailable,  // may succeed later: busy, no capacity, not reachable
  kFailed,       // the environment (driver, file system, process) failed
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
