// The identity of this boot of the machine, for records that do not outlive one. One rule: it is
// the kernel's; where there is none, all boots are taken for the same.
#pragma once

#include <string>

namespace tangram::files {

// As the kernel names it; "unknown" if it does not.
[[nodiscard]] std::string boot_id();

}  // namespace tangram::files
