// See when.hpp.
#include "cli/client/when.hpp"

#include <ctime>

#include "base/text.hpp"
#include "cli/client/job_text.hpp"

namespace tangram::cli {
namespace {

// Parses local time. The whole text must match `form`.
std::optional<api::WallTime> parse_local(const std::string& typed, const char* form) {
  std::tm parts{};
  const char* end = ::strptime(typed.c_str(), form, &parts);
  if (end == nullptr || *end != '\0') return std::nullopt;
  const int day = parts.tm_mday;
  parts.tm_isdst = -1;
  const std::time_t seconds = std::mktime(&parts);
  if (parts.tm_mday != day) return std::nullopt;  // 31 February
  return api::WallTime(std::chrono::seconds(seconds));
}

}  // namespace

Result<api::WallTime> parse_when(std::string_view option, const std::string& typed,
                                 api::WallTime now) {
  if (const auto ago = api::parse_duration(typed)) return now - *ago;
  if (const auto exact = api::parse_wall(typed)) return *exact;
  for (const char* form :
       {"%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"}) {
    if (const auto time = parse_local(typed, form)) return *time;
  }
  return invalid(cat(option, ": invalid time ", tangram::quoted(typed),
                     ": use how long ago (e.g. 90m or 2d) or a date (e.g. 2026-11-16 or "
                     "'2026-11-16 14:30')."));
}

Result<std::string> when_parameter(std::string_view option, const std::string& typed) {
  if (typed.empty()) return "";
  const auto when = parse_when(option, typed, now());
  if (!when) return std::unexpected(when.error());
  return api::wall_text(*when);
}

}  // namespace tangram::cli
