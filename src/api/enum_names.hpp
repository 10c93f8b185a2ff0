// Names of enumeration values on the wire: lookup, and the error message for an unknown one.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tangram::api {

// The position of `name` in `names`, which is the value of the enumerator; nullopt if unknown.
[[nodiscard]] std::optional<std::size_t> index_of_name(std::string_view name,
                                                       std::span<const std::string_view> names);
// The error message for an unknown name, with the nearest known one, e.g.
// "unknown value 'servce'; did you mean 'service'? Valid values: batch and service".
[[nodiscard]] std::string unknown_value(std::string_view name,
                                        std::span<const std::string_view> names);

}  // namespace tangram::api
