// GpuSet and CountedGpuSet: ordered sets of GPU numbers for the index. The smallest member must be
// found, and members added and removed, at a cost that does not grow with the node: a bit per GPU,
// and above it a bit per 64, per 4,096 and per 262,144 of them. A set that never had a member owns
// no memory, because most of the thousands of sets of an index are never used.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tangram::core {

class GpuSet {
 public:
  static constexpr std::uint32_t kNone = 0xFFFFFFFFU;

  // `capacity` is one more than the largest number any set of this index will be given.
  void insert(std::uint32_t gpu, std::uint32_t capacity);
  void erase(std::uint32_t gpu);
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] bool contains(std::uint32_t gpu) const;
  [[nodiscard]] std::uint32_t first() const { return next(0); }
  // The smallest member that is >= from, or kNone.
  [[nodiscard]] std::uint32_t next(std::uint32_t from) const;
  // The members of the block that starts at 64 * block, one bit each.
  [[nodiscard]] std::uint64_t block(std::uint32_t block) const {
    return block < levels_[0].size() ? levels_[0][block] : 0;
  }
  [[nodiscard]] std::size_t bytes() const;

 private:
  void grow(std::uint32_t capacity);

  std::uint32_t count_ = 0;  // beside the lowest level: most questions touch nothing else
  std::array<std::vector<std::uint64_t>, 4> levels_;
};

// A set of blocks of 64 GPUs, each with the number of its members: an eighth of the memory of a
// GpuSet. The caller checks the GPUs of the first block.
class CountedGpuSet {
 public:
  void insert(std::uint32_t gpu, std::uint32_t capacity);
  void erase(std::uint32_t gpu);
  [[nodiscard]] bool empty() const { return members_ == 0; }
  [[nodiscard]] std::uint32_t next_block(std::uint32_t from) const { return blocks_.next(from); }
  [[nodiscard]] std::size_t bytes() const { return blocks_.bytes() + counts_.capacity(); }

 private:
  std::uint32_t members_ = 0;
  std::vector<std::uint8_t> counts_;
  GpuSet blocks_;
};

}  // namespace tangram::core
