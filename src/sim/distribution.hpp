// Distribution: count, mean, maximum and quantiles (to within 1.6 %) of many non-negative values,
// in constant memory.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tangram::sim {

class Distribution {
 public:
  void add(double value);
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] double sum() const { return sum_; }
  [[nodiscard]] double mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }
  [[nodiscard]] double largest() const { return largest_; }
  // The value that this share (0 to 1) of all values does not exceed.
  [[nodiscard]] double quantile(double part) const;

 private:
  // A bucket per 64th of a power of two, from about a microsecond; below it counts as 0.
  static constexpr unsigned kDropped = 46;
  static constexpr double kSmallest = 0x1.0p-20;
  static std::size_t bucket(double value) {
    return static_cast<std::size_t>((std::bit_cast<std::uint64_t>(value) >> kDropped) -
                                    (std::bit_cast<std::uint64_t>(kSmallest) >> kDropped)) +
           1;
  }

  std::uint64_t count_ = 0;
  double sum_ = 0;
  double largest_ = 0;
  std::vector<std::uint64_t> buckets_;
};

}  // namespace tangram::sim
