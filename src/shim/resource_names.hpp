// The resource limits of setrlimit(2) by name: lower case, without RLIMIT_.
#pragma once

#include <map>
#include <string_view>
#include <sys/resource.h>

namespace tangram::shim {

[[nodiscard]] const std::map<std::string_view, __rlimit_resource>& resources_by_name();

}  // namespace tangram::shim
