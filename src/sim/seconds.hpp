// Conversion between seconds and the scheduler's microseconds. Spans are rounded up, so that
// nothing ends before its work is done.
#pragma once

#include <cmath>

#include "base/instant.hpp"

namespace tangram::sim {

constexpr double kMicros = 1e6;

inline Duration duration_of(double seconds) {
  return Duration(static_cast<std::int64_t>(std::ceil(seconds * kMicros - 1e-6)));
}
inline Instant at_seconds(double seconds) { return Instant(duration_of(seconds)); }
inline double to_seconds(Duration d) { return static_cast<double>(d.count()) / kMicros; }
inline double to_seconds(Instant t) { return to_seconds(t.time_since_epoch()); }

}  // namespace tangram::sim
