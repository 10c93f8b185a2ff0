// Converts SQLite exceptions to Errors for people: the operation, the store, the cause and what to
// do. Private to the store. No other code interprets SQLite's error codes.
#pragma once

#include <string>
#include <string_view>

#include <SQLiteCpp/Exception.h>

#include "base/error.hpp"

namespace tangram::store {

[[nodiscard]] Error sqlite_error(const SQLite::Exception& error, std::string_view tried,
                                 const std::string& path);

// Advice for a damaged store.
[[nodiscard]] std::string recovery_hint(const std::string& path);

}  // namespace tangram::store
