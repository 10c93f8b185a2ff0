// Random: the simulator's own random numbers, so that a seed gives the same workload with every
// compiler and library. Draws are in a fixed order.
#pragma once

#include <cmath>
#include <cstdint>

namespace tangram::sim {

// SplitMix64: small, fast, passes the usual batteries; one 64-bit state per stream.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t bits() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15U);
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
  }
  double uniform() { return static_cast<double>(bits() >> 11U) * 0x1.0p-53; }  // [0, 1)
  std::uint64_t below(std::uint64_t n) {
    return static_cast<std::uint64_t>(uniform() * static_cast<double>(n));
  }
  double exponential(double mean) { return -mean * std::log1p(-uniform()); }
  // Normal(0, 1) by Box and Muller; uses one of the pair, to keep the order of draws simple.
  double normal() {
    const double radius = std::sqrt(-2.0 * std::log1p(-uniform()));
    return radius * std::cos(6.283185307179586 * uniform());
  }
  // Returns an independent stream.
  Random fork() { return Random(bits()); }

 private:
  std::uint64_t state_;
};

}  // namespace tangram::sim
