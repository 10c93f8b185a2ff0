// Error messages for failed system calls. `code` is an errno value; save errno before any other
// call that may change it.
#pragma once

#include <string>
#include <string_view>
#include <system_error>

#include "base/error.hpp"
#include "base/text.hpp"

namespace tangram::os {

// "No such file or directory" for ENOENT.
inline std::string errno_text(int code) { return std::generic_category().message(code); }

// "cannot open '/x': No such file or directory." `tried`: the operation, e.g. "open"; `on`: the
// file.
inline std::unexpected<Error> system_failure(std::string_view tried, std::string_view on,
                                             int code) {
  return failed(cat("cannot ", tried, " ", tangram::quoted(on), ": ", errno_text(code), "."));
}

}  // namespace tangram::os
