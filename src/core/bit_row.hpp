// BitRow: a fixed row of bits with find-next, for the ranks of the index that are not empty.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tangram::core {

class BitRow {
 public:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  explicit BitRow(std::size_t bits = 0) : words_((bits + 63) / 64) {}

  void set(std::size_t i) { words_[i / 64] |= std::uint64_t{1} << (i % 64); }
  void clear(std::size_t i) { words_[i / 64] &= ~(std::uint64_t{1} << (i % 64)); }
  // The first set bit in [from, end), or kNone.
  [[nodiscard]] std::size_t next(std::size_t from, std::size_t end) const {
    if (from >= end) return kNone;
    std::size_t word = from / 64;
    std::uint64_t rest = words_[word] & (~std::uint64_t{0} << (from % 64));
    while (rest == 0) {
      if (++word * 64 >= end) return kNone;
      rest = words_[word];
    }
    const std::size_t at = word * 64 + static_cast<std::size_t>(std::countr_zero(rest));
    return at < end ? at : kNone;
  }
  [[nodiscard]] std::size_t bytes() const { return words_.capacity() * sizeof(std::uint64_t); }

 private:
  std::vector<std::uint64_t> words_;
};

}  // namespace tangram::core
