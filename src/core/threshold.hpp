// Threshold: the paper's t (§IV-C) as an exact decimal. A GPU is Lazy while its load is below t,
// else Busy; the boundary must not depend on rounding, so it is never compared as a double.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace tangram::core {

class Threshold {
 public:
  static constexpr std::int64_t kOne = 1'000'000'000;

  constexpr Threshold() = default;  // 0.4, as in the paper's experiments
  static constexpr Threshold from_billionths(std::int64_t n) {
    Threshold t;
    t.billionths_ = n;
    return t;
  }
  // "0.4": a plain decimal from 0 to 1 with at most nine digits after the point.
  [[nodiscard]] static Result<Threshold> parse(std::string_view text);

  [[nodiscard]] constexpr std::int64_t billionths() const { return billionths_; }
  // Lazy iff used / total < t.
  [[nodiscard]] constexpr bool lazy(int used, int total) const {
    return std::int64_t{used} * kOne < billionths_ * total;
  }
  [[nodiscard]] std::string text() const;  // "0.4"

  friend constexpr auto operator<=>(Threshold, Threshold) = default;

 private:
  std::int64_t billionths_ = 400'000'000;
};

}  // namespace tangram::core
