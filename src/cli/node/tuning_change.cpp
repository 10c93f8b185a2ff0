// See tuning_change.hpp.
#include "cli/node/tuning_change.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "api/job.hpp"
#include "base/text.hpp"

namespace tangram::cli {
namespace {

using api::TuningChange;

std::unexpected<Error> bad_value(std::string_view key, std::string_view value,
                                 std::string_view form) {
  return invalid(cat(key, "=", tangram::printable(value), ": use ", form, "."));
}

// The member for keys whose value is text that the daemon parses; nullptr for other keys.
std::optional<std::string>* text_of(TuningChange& change, std::string_view key) {
  if (key == "threshold") return &change.threshold;
  if (key == "placement") return &change.placement;
  if (key == "migration") return &change.migration;
  if (key == "queue") return &change.queue;
  if (key == "gain") return &change.gain;
  return key == "window" ? &change.window : nullptr;
}

Result<void> set_number(std::string_view key, const std::string& value,
                        std::optional<std::uint32_t>& to) {
  const auto number = parse_int(value, 0, std::numeric_limits<int>::max());
  if (!number) return bad_value(key, value, "a whole number, e.g. 2");
  to = static_cast<std::uint32_t>(*number);
  return {};
}

Result<void> set_time(std::string_view key, const std::string& value,
                      std::optional<std::chrono::milliseconds>& to) {
  const auto time = api::parse_duration(value);
  if (!time) return bad_value(key, value, "a duration, e.g. 90s or 10m");
  to = *time;
  return {};
}

Result<void> set_protect_head(TuningChange& change, const std::string& value) {
  constexpr std::array<std::string_view, 3> kYes = {"true", "on", "yes"};
  constexpr std::array<std::string_view, 3> kNo = {"false", "off", "no"};
  const bool yes = std::ranges::find(kYes, value) != kYes.end();
  if (!yes && std::ranges::find(kNo, value) == kNo.end()) {
    return bad_value("protect_head", value, "true or false");
  }
  change.protect_head = yes;
  return {};
}

Result<void> set(TuningChange& change, const std::string& key, const std::string& value) {
  if (key == "most_moves") return set_number(key, value, change.most_moves);
  if (key == "max_passes") return set_number(key, value, change.max_passes);
  if (key == "cooldown") return set_time(key, value, change.cooldown);
  if (key == "ageing") return set_time(key, value, change.ageing);
  if (key == "half_life") return set_time(key, value, change.half_life);
  if (key == "protect_head") return set_protect_head(change, value);
  if (std::optional<std::string>* text = text_of(change, key)) {
    *text = key == "window" && value == "always" ? "" : value;
    return {};
  }
  const auto near = nearest(key, tuning_keys());
  return invalid(cat("unknown tuning key ", tangram::quoted(key), near ? "; did you mean " : "",
                     near.value_or(""), near ? "?" : ".",
                     " Known keys: ", join_words(tuning_keys()), "."));
}

}  // namespace

std::span<const std::string> tuning_keys() {
  static const std::array<std::string, 12> keys = {
      "threshold", "placement", "migration",    "queue",      "most_moves", "cooldown",
      "gain",      "window",    "protect_head", "max_passes", "ageing",     "half_life"};
  return keys;
}

Result<TuningChange> tuning_change(const std::vector<std::string>& typed) {
  TuningChange change;
  std::vector<std::string> seen;
  for (const std::string& word : typed) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) {
      return invalid(cat(tangram::quoted(word), ": use KEY=VALUE, e.g. threshold=0.5."));
    }
    const std::string key = word.substr(0, equals);
    if (std::ranges::find(seen, key) != seen.end()) {
      return invalid(cat(tangram::printable(key), " is given twice."));
    }
    if (auto ok = set(change, key, word.substr(equals + 1)); !ok) {
      return std::unexpected(ok.error());
    }
    seen.push_back(key);
  }
  return change;
}

}  // namespace tangram::cli
