// See tuning_text.hpp.
#include "daemon/engine/tuning_text.hpp"

#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "base/check.hpp"
#include "base/text.hpp"
#include "daemon/engine/default_tuning.hpp"
#include "policies/registry.hpp"

namespace tangram::daemon {
namespace {

constexpr std::uint32_t kMaxMoves = 1024;

std::optional<int> two_digits(std::string_view digits, int highest) {
  int value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || value > highest) {
    return std::nullopt;
  }
  return value;
}

// "22:00" as minutes since midnight.
std::optional<int> minutes_of(std::string_view time) {
  if (time.size() != 5 || time[2] != ':') return std::nullopt;
  const auto hour = two_digits(time.substr(0, 2), 23);
  const auto minute = two_digits(time.substr(3, 2), 59);
  if (!hour || !minute) return std::nullopt;
  return *hour * 60 + *minute;
}

std::string time_text(std::int32_t seconds) {
  const auto two = [](std::int32_t n) { return cat(n < 10 ? "0" : "", n); };
  return cat(two(seconds / 3600), ":", two(seconds / 60 % 60));
}

// The value of a key as `tangram tune` takes it.
std::string setting_text(const boost::json::value& value) {
  const bool is_empty = value.is_null() || (value.is_string() && value.get_string().empty());
  if (is_empty) return "always";  // only a window can be empty
  if (value.is_string()) return std::string(value.get_string().c_str());
  return boost::json::serialize(value);
}

Error prefix_key(std::string_view key, Error error) {
  error.message = cat(key, ": ", error.message);
  return error;
}

}  // namespace

Result<core::DayWindow> parse_window(const std::string& text) {
  if (text.empty()) return core::DayWindow{};
  const bool formed = text.size() == 11 && text[5] == '-';
  const auto from = formed ? minutes_of(text.substr(0, 5)) : std::nullopt;
  const auto to = formed ? minutes_of(text.substr(6)) : std::nullopt;
  if (from && to) return core::DayWindow{.from_s = *from * 60, .to_s = *to * 60};
  return invalid(
      cat("invalid window ", tangram::quoted(text), ": use local times, e.g. \"22:00-06:00\""));
}

std::string window_text(const core::DayWindow& window) {
  if (window.from_s == window.to_s) return "";
  return cat(time_text(window.from_s), "-", time_text(window.to_s));
}

Result<std::int64_t> parse_gain(const std::string& text) {
  const auto gain = core::Threshold::parse(text);
  if (!gain) return std::unexpected(gain.error());
  return gain->billionths() / 1000;
}

std::string gain_text(std::int64_t ppm) {
  std::string digits = std::to_string(ppm % 1'000'000);
  digits.insert(0, 6 - digits.size(), '0');
  digits.erase(digits.find_last_not_of('0') + 1);
  return cat(ppm / 1'000'000, digits.empty() ? "" : ".", digits);
}

api::TuningView view_of(const core::Tuning& tuning) {
  const core::Restraint& restraint = tuning.restraint;
  return {.threshold = tuning.threshold.text(),
          .placement = tuning.placement,
          .migration = tuning.migration,
          .queue = tuning.queue,
          .most_moves = restraint.most_moves,
          .cooldown = std::chrono::duration_cast<std::chrono::milliseconds>(restraint.cooldown),
          .gain = gain_text(restraint.smallest_gain_ppm),
          .window = window_text(restraint.window),
          .protect_head = restraint.protect_head,
          .max_passes = tuning.fairness.max_passes,
          .ageing = std::chrono::duration_cast<std::chrono::milliseconds>(tuning.fairness.ageing),
          .half_life =
              std::chrono::duration_cast<std::chrono::milliseconds>(tuning.fairness.half_life)};
}

std::string changes_text(const core::Tuning& from, const core::Tuning& to) {
  const boost::json::value before = api::to_json(view_of(from));
  const boost::json::value after = api::to_json(view_of(to));
  std::string text;
  for (const auto& [key, value] : after.as_object()) {
    if (before.at(key) == value) continue;
    text += cat(text.empty() ? "" : ", ", std::string_view(key), "=", setting_text(value));
  }
  return text;
}

std::string applied_text(const api::TuningChange& file) {
  return boost::json::serialize(api::to_json(file));
}

api::TuningChange not_yet_applied(const api::TuningChange& file, const std::string& applied) {
  boost::system::error_code failed;
  const boost::json::value before = boost::json::parse(applied, failed);
  if (failed || !before.is_object()) return file;
  boost::json::object changed;
  const boost::json::value keys = api::to_json(file);
  for (const auto& [key, value] : keys.as_object()) {
    const boost::json::value* last = before.get_object().if_contains(key);
    if (last == nullptr || setting_text(*last) != setting_text(value)) changed[key] = value;
  }
  if (changed.empty()) return {};
  const auto change = api::read_tuning_change(changed);
  CHECK(change.has_value());  // a part of a change is one
  return *change;
}

std::vector<api::TuningDifference> differences(const core::Tuning& tuning,
                                               const api::TuningChange& file) {
  const auto wanted = apply_change(default_tuning(), file);
  CHECK(wanted.has_value());  // checked when the configuration was read
  const boost::json::value expected = api::to_json(view_of(*wanted));
  const boost::json::value in_force = api::to_json(view_of(tuning));
  const boost::json::value in_file = api::to_json(file);
  std::vector<api::TuningDifference> found;
  for (const auto& [key, value] : in_force.as_object()) {
    if (expected.at(key) == value) continue;
    found.push_back({.key = std::string(key),
                     .value = setting_text(value),
                     .expected = setting_text(expected.at(key)),
                     .in_file = in_file.as_object().contains(key)});
  }
  return found;
}

Result<core::Tuning> apply_change(core::Tuning tuning, const api::TuningChange& change) {
  std::optional<Error> first_error;
  const auto set = [&]<class T>(std::string_view key, const Result<T>& parsed, T& value) {
    if (parsed) {
      value = *parsed;
    } else if (!first_error) {
      first_error = prefix_key(key, parsed.error());
    }
  };
  const auto set_policy = [&](std::string_view key, const auto& name, auto find,
                              std::string& value) {
    if (!name) return;
    if (const auto found = find(*name); !found && !first_error)
      first_error = prefix_key(key, found.error());
    value = *name;
  };
  core::Restraint& restraint = tuning.restraint;
  if (change.threshold) {
    set("threshold", core::Threshold::parse(*change.threshold), tuning.threshold);
  }
  set_policy("placement", change.placement, policies::find_placement, tuning.placement);
  set_policy("migration", change.migration, policies::find_migration, tuning.migration);
  set_policy("queue", change.queue, policies::find_queue, tuning.queue);
  if (change.most_moves.value_or(0) > kMaxMoves && !first_error) {
    first_error = Error{ErrorCode::kInvalid, cat("most_moves: at most ", kMaxMoves)};
  }
  restraint.most_moves = change.most_moves.value_or(restraint.most_moves);
  if (change.cooldown) restraint.cooldown = *change.cooldown;
  if (change.gain) set("gain", parse_gain(*change.gain), restraint.smallest_gain_ppm);
  if (change.window) set("window", parse_window(*change.window), restraint.window);
  restraint.protect_head = change.protect_head.value_or(restraint.protect_head);
  core::Fairness& fairness = tuning.fairness;
  if (change.max_passes.value_or(0) > kMaxPasses && !first_error) {
    first_error = Error{ErrorCode::kInvalid, cat("max_passes: at most ", kMaxPasses)};
  }
  fairness.max_passes = change.max_passes.value_or(fairness.max_passes);
  if (change.ageing) fairness.ageing = *change.ageing;
  if (change.half_life) fairness.half_life = *change.half_life;
  if (first_error) return std::unexpected(*std::move(first_error));
  return tuning;
}

}  // namespace tangram::daemon
