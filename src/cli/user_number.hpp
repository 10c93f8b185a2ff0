// A user as he is typed: by name or by number. One rule: names are this machine's; elsewhere, the
// number says the same.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.hpp"

namespace tangram::cli {

// Of what follows --user.
[[nodiscard]] Result<std::uint32_t> uid_of(const std::string& user);

}  // namespace tangram::cli
