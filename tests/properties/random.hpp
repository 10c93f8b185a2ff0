// Random: the only source of randomness in the property tests: a small generator whose every number
// follows from a seed, on every machine, so that a failure is reproduced by its seed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tangram::properties {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {  // splitmix64
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15U);
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
  }
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(next() % n); }
  bool chance(unsigned per_mille) { return next() % 1000 < per_mille; }
  template <class Range>
  auto& pick(Range&& range) {
    return range[below(range.size())];
  }

 private:
  std::uint64_t state_;
};

}  // namespace tangram::properties
