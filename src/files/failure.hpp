// Why a call of the operating system failed, in words. One rule: the number comes from the caller,
// who took it from errno before anything else could change it.
#pragma once

#include <string>
#include <string_view>
#include <system_error>

#include "base/error.hpp"
#include "base/text.hpp"

namespace tangram::files {

inline std::string why(int code) { return std::generic_category().message(code); }

// "cannot open "/x": No such file or directory."
inline std::unexpected<Error> system_failure(std::string_view tried, std::string_view on,
                                             int code) {
  return failed(cat("cannot ", tried, " ", tangram::quoted(on), ": ", why(code), "."));
}

}  // namespace tangram::files
