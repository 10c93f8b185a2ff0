// FragCost: the paper's fragmentation cost of one GPU (Eq. 5) as an exact fraction. Step 3 of the
// arrival method acts on ties (§IV-C), and a tie must not depend on rounding. Compared as
// fractions, so costs of different GPU models compare too; doubles are only printed.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace tangram::mig {

class FragCost {
 public:
  constexpr FragCost() = default;
  constexpr FragCost(std::int32_t units, std::int32_t denominator)
      : units_(units), denominator_(denominator) {}

  [[nodiscard]] constexpr std::int32_t units() const { return units_; }
  [[nodiscard]] constexpr std::int32_t denominator() const { return denominator_; }
  [[nodiscard]] constexpr double approximate() const {
    return static_cast<double>(units_) / static_cast<double>(denominator_);
  }
  [[nodiscard]] std::string fraction() const;  // in lowest terms: "7/24", "0/1"

  friend constexpr std::strong_ordering operator<=>(FragCost a, FragCost b) {
    return std::int64_t{a.units_} * b.denominator_ <=> std::int64_t{b.units_} * a.denominator_;
  }
  friend constexpr bool operator==(FragCost a, FragCost b) { return (a <=> b) == 0; }

 private:
  std::int32_t units_ = 0;
  std::int32_t denominator_ = 1;
};

}  // namespace tangram::mig
