// Resolves a user given by name or by uid. Names are those of this machine.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.hpp"

namespace tangram::cli {

// `user`: the value of --user. Fails with kNotFound if there is no such user.
[[nodiscard]] Result<std::uint32_t> uid_of(const std::string& user);

}  // namespace tangram::cli
