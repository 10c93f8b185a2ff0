// What SQLite says, as an Error for people: what was tried, on which store, why it failed and what
// to do. Private to the store. One rule: every SQLite error passes here, and nowhere else is its
// code looked at.
#pragma once

#include <string>
#include <string_view>

#include <SQLiteCpp/Exception.h>

#include "base/error.hpp"

namespace tangram::store {

[[nodiscard]] Error sqlite_error(const SQLite::Exception& error, std::string_view tried,
                                 const std::string& path);

// What to do about a store that is damaged.
[[nodiscard]] std::string how_to_recover(const std::string& path);

}  // namespace tangram::store
