// The scheduler's tuning in the words of people: as the configuration file and the API say it. One
// rule: what one of them accepts the other accepts, because both come here.
#pragma once

#include <string>

#include "api/tuning.hpp"
#include "base/error.hpp"
#include "core/tuning.hpp"

namespace tangram::daemon {

// "22:00-06:00", local time; empty: the whole day.
[[nodiscard]] Result<core::DayWindow> parse_window(const std::string& text);
[[nodiscard]] std::string window_text(const core::DayWindow& window);
// "0.05" of FragCost, in millionths.
[[nodiscard]] Result<std::int64_t> parse_gain(const std::string& text);
[[nodiscard]] std::string gain_text(std::int64_t ppm);

[[nodiscard]] api::TuningView view_of(const core::Tuning& tuning);
// What of it is new: "threshold=0.5, queue=fcfs".
[[nodiscard]] std::string what_changed(const core::Tuning& from, const core::Tuning& to);
// With the change made; the error names the key.
[[nodiscard]] Result<core::Tuning> changed(core::Tuning tuning, const api::TuningChange& change);

}  // namespace tangram::daemon
