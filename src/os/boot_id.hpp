// The boot ID of the machine, for records that are valid only until a reboot.
#pragma once

#include <string>

namespace tangram::os {

// The kernel's random boot ID; "unknown" if it cannot be read, so that all boots look the same.
[[nodiscard]] std::string boot_id();

}  // namespace tangram::os
