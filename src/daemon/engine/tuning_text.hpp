// The scheduler's tuning as text. The configuration file and the API both parse and print it here,
// so they accept the same values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/tuning.hpp"
#include "base/error.hpp"
#include "core/tuning.hpp"

namespace tangram::daemon {

inline constexpr std::uint32_t kMaxPasses = 10'000;  // of [scheduler] max_passes

// A window such as "22:00-06:00" in local time; empty: the whole day.
[[nodiscard]] Result<core::DayWindow> parse_window(const std::string& text);
[[nodiscard]] std::string window_text(const core::DayWindow& window);
// A FragCost gain such as "0.05", to millionths and back.
[[nodiscard]] Result<std::int64_t> parse_gain(const std::string& text);
[[nodiscard]] std::string gain_text(std::int64_t ppm);

[[nodiscard]] api::TuningView view_of(const core::Tuning& tuning);
// The keys of `file`, as a JSON object, for keeping what was applied.
[[nodiscard]] std::string applied_text(const api::TuningChange& file);
// The part of `file`, the keys that the configuration file sets, that was not applied yet.
// `applied`: applied_text() of the file that was applied last. Earlier versions kept all keys
// there, also those that the file did not set; an unchanged file is recognized all the same.
[[nodiscard]] api::TuningChange not_yet_applied(const api::TuningChange& file,
                                                const std::string& applied);
// The keys in which `tuning` is not what `file` or, for keys that it does not set,
// default_tuning() says.
[[nodiscard]] std::vector<api::TuningDifference> differences(const core::Tuning& tuning,
                                                             const api::TuningChange& file);
// The keys that differ, with the values of `to`: "threshold=0.5, queue=fcfs".
[[nodiscard]] std::string changes_text(const core::Tuning& from, const core::Tuning& to);
// `tuning` with `change` applied; the error names the key.
[[nodiscard]] Result<core::Tuning> apply_change(core::Tuning tuning,
                                                const api::TuningChange& change);

}  // namespace tangram::daemon
