// See profile.hpp.
#include "mig/profile.hpp"

#include <cstdlib>
#include <tuple>

#include "base/text.hpp"

namespace tangram::mig {
namespace {

// "1g.10gb+me" in parts.
struct NameParts {
  int compute = 0;
  int gigabytes = 0;
  std::string_view suffix;
};

std::optional<NameParts> parts_of(std::string_view name) {
  constexpr int kMax = 9'999;
  const std::size_t dot = name.find("g.");
  const std::size_t unit = name.find("gb", dot == std::string_view::npos ? name.size() : dot);
  if (unit == std::string_view::npos) return std::nullopt;
  const auto compute = parse_int(name.substr(0, dot), 1, kMax);
  const auto gigabytes = parse_int(name.substr(dot + 2, unit - dot - 2), 1, kMax);
  if (!compute || !gigabytes) return std::nullopt;
  return NameParts{*compute, *gigabytes, name.substr(unit + 2)};
}

}  // namespace

Media media_of(std::string_view profile_name) {
  if (profile_name.ends_with("+me.all")) return Media::kAll;
  if (profile_name.ends_with("+me")) return Media::kExtended;
  if (profile_name.ends_with("-me")) return Media::kNone;
  return Media::kStandard;
}

std::optional<std::string_view> nearest_profile(std::string_view typed,
                                                std::span<const std::string> names) {
  const auto wanted = parts_of(typed);
  if (!wanted) return nearest(typed, names);
  std::optional<std::string_view> best;
  std::tuple<int, bool> best_distance;
  for (const std::string& name : names) {
    const auto parts = parts_of(name);
    if (!parts || parts->compute != wanted->compute) continue;
    const std::tuple distance(std::abs(parts->gigabytes - wanted->gigabytes),
                              parts->suffix != wanted->suffix);
    if (best && distance >= best_distance) continue;
    best = name;
    best_distance = distance;
  }
  return best;
}

}  // namespace tangram::mig
