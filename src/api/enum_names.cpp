// See enum_names.hpp.
#include "api/enum_names.hpp"

#include <algorithm>
#include <vector>

#include "base/text.hpp"

namespace tangram::api {

std::optional<std::size_t> index_of_name(std::string_view name,
                                         std::span<const std::string_view> names) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names.begin());
}

std::string unknown_value(std::string_view name, std::span<const std::string_view> names) {
  const std::vector<std::string> all(names.begin(), names.end());
  const auto near = nearest(name, all);
  const std::string hint = near ? cat("; did you mean ", quoted(*near), "? Valid values: ")
                                : std::string("; valid values: ");
  return cat("unknown value ", quoted(name), hint, join_words(all));
}

}  // namespace tangram::api
