// The scheduler's tuning as text. The configuration file and the API both parse and print it here,
// so they accept the same values.
#pragma once

#include <string>

#include "api/tuning.hpp"
#include "base/error.hpp"
#include "core/tuning.hpp"

namespace tangram::daemon {

// A window such as "22:00-06:00" in local time; empty: the whole day.
[[nodiscard]] Result<core::DayWindow> parse_window(const std::string& text);
[[nodiscard]] std::string window_text(const core::DayWindow& window);
// A FragCost gain such as "0.05", to millionths and back.
[[nodiscard]] Result<std::int64_t> parse_gain(const std::string& text);
[[nodiscard]] std::string gain_text(std::int64_t ppm);

[[nodiscard]] api::TuningView view_of(const core::Tuning& tuning);
// The keys that differ, with the values of `to`: "threshold=0.5, queue=fcfs".
[[nodiscard]] std::string changes_text(const core::Tuning& from, const core::Tuning& to);
// `tuning` with `change` applied; the error names the key.
[[nodiscard]] Result<core::Tuning> apply_change(core::Tuning tuning,
                                                const api::TuningChange& change);

}  // namespace tangram::daemon
