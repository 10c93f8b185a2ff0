// See gpu_set.hpp.
#include "core/gpu_set.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace tangram::core {
namespace {

constexpr std::uint64_t bit(std::uint32_t i) { return std::uint64_t{1} << (i % 64U); }

}  // namespace

void GpuSet::grow(std::uint32_t capacity) {
  std::size_t words = capacity;
  for (auto& level : levels_) {
    words = (words + 63) / 64;
    if (level.size() < words) level.resize(words);
  }
}

void GpuSet::insert(std::uint32_t gpu, std::uint32_t capacity) {
  if (gpu / 64 >= levels_[0].size()) grow(std::max(capacity, gpu + 1));
  if ((levels_[0][gpu / 64] & bit(gpu)) != 0) return;
  ++count_;
  std::uint32_t at = gpu;
  for (auto& level : levels_) {
    std::uint64_t& word = level[at / 64];
    const bool was_empty = word == 0;
    word |= bit(at);
    if (!was_empty) return;
    at /= 64;
  }
}

void GpuSet::erase(std::uint32_t gpu) {
  CHECK(contains(gpu));
  --count_;
  std::uint32_t at = gpu;
  for (auto& level : levels_) {
    std::uint64_t& word = level[at / 64];
    word &= ~bit(at);
    if (word != 0) return;
    at /= 64;
  }
}

bool GpuSet::contains(std::uint32_t gpu) const {
  return gpu / 64 < levels_[0].size() && (levels_[0][gpu / 64] & bit(gpu)) != 0;
}

// Up the levels to the first word that has something at or behind `from`, then down again.
std::uint32_t GpuSet::next(std::uint32_t from) const {
  if (count_ == 0) return kNone;
  std::uint32_t at = from;
  for (std::size_t level = 0; level < levels_.size(); ++level) {
    const auto& words = levels_[level];
    if (at / 64 >= words.size()) return kNone;
    const std::uint64_t rest = words[at / 64] & (~std::uint64_t{0} << (at % 64U));
    if (rest != 0) {
      at = at / 64 * 64 + static_cast<std::uint32_t>(std::countr_zero(rest));
      while (level-- > 0) {
        at = at * 64 + static_cast<std::uint32_t>(std::countr_zero(levels_[level][at]));
      }
      return at;
    }
    at = at / 64 + 1;
  }
  // More than 16 million GPUs: the top level has several words.
  for (std::size_t word = at; word < levels_.back().size(); ++word) {
    if (levels_.back()[word] != 0) return next(static_cast<std::uint32_t>(word << 24U));
  }
  return kNone;
}

std::size_t GpuSet::bytes() const {
  std::size_t sum = 0;
  for (const auto& level : levels_) sum += level.capacity() * sizeof(std::uint64_t);
  return sum;
}

void CountedGpuSet::insert(std::uint32_t gpu, std::uint32_t capacity) {
  const std::uint32_t block = gpu / 64;
  if (block >= counts_.size()) counts_.resize((std::max(capacity, gpu + 1) + 63) / 64);
  ++members_;
  if (counts_[block]++ == 0) blocks_.insert(block, static_cast<std::uint32_t>(counts_.size()));
}

void CountedGpuSet::erase(std::uint32_t gpu) {
  const std::uint32_t block = gpu / 64;
  CHECK(block < counts_.size() && counts_[block] > 0);
  --members_;
  if (--counts_[block] == 0) blocks_.erase(block);
}

}  // namespace tangram::core
