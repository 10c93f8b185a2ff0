// The scheduler's tuning on the wire: the current settings, and a change of some of them. Names and
// values are those of [scheduler] in the configuration file. A change is applied completely or not
// at all.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <boost/json/value.hpp>

#include "base/error.hpp"

namespace tangram::api {

struct TuningView {
  std::string threshold;  // "0.4"
  std::string placement;
  std::string migration;
  std::string queue;
  std::uint32_t most_moves = 0;
  std::chrono::milliseconds cooldown{0};
  std::string gain;    // "0.05"
  std::string window;  // "22:00-06:00"; empty: always
  bool protect_head = true;
  std::uint32_t max_passes = 0;
  std::chrono::milliseconds ageing{0};
  std::chrono::milliseconds half_life{0};

  friend bool operator==(const TuningView&, const TuningView&) = default;
};

struct TuningChange {
  std::optional<std::string> threshold = {};
  std::optional<std::string> placement = {};
  std::optional<std::string> migration = {};
  std::optional<std::string> queue = {};
  std::optional<std::uint32_t> most_moves = {};
  std::optional<std::chrono::milliseconds> cooldown = {};
  std::optional<std::string> gain = {};
  std::optional<std::string> window = {};
  std::optional<bool> protect_head = {};
  std::optional<std::uint32_t> max_passes = {};
  std::optional<std::chrono::milliseconds> ageing = {};
  std::optional<std::chrono::milliseconds> half_life = {};

  friend bool operator==(const TuningChange&, const TuningChange&) = default;
};

// A setting in force that is not what the configuration file or, for a key that the file does not
// set, the default of a new store says.
struct TuningDifference {
  std::string key;       // "queue"
  std::string value;     // in force
  std::string expected;  // by the file or the default
  bool in_file = false;  // the file sets the key

  friend bool operator==(const TuningDifference&, const TuningDifference&) = default;
};

[[nodiscard]] boost::json::value to_json(const TuningView& tuning);
[[nodiscard]] Result<TuningView> read_tuning_view(const boost::json::value& document);
[[nodiscard]] boost::json::value to_json(const TuningChange& change);
// An empty change is an error. Policy names and other strings are checked by the daemon.
[[nodiscard]] Result<TuningChange> read_tuning_change(const boost::json::value& document);

}  // namespace tangram::api
