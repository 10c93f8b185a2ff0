// IdMap: from a job's id to its slot. Open addressing in one array, because a step must not
// allocate, and nothing ever iterates it: the order of a hash table must not reach a decision.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/ids.hpp"

namespace tangram::core {

class IdMap {
 public:
  [[nodiscard]] JobSlot find(JobId id) const;  // kNoJob if it is not there
  void insert(JobId id, JobSlot slot);         // must not be there
  void erase(JobId id);                        // must be there
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  struct Cell {
    JobId id;
    JobSlot slot = kNoJob;
  };
  [[nodiscard]] std::size_t home(JobId id) const {
    return static_cast<std::size_t>((id.value() * 0x9E3779B97F4A7C15U) >> 20U) &
           (cells_.size() - 1);
  }
  [[nodiscard]] std::size_t position(JobId id) const;  // of the id, or of the gap it belongs in
  void grow();

  std::vector<Cell> cells_ = std::vector<Cell>(16);  // a power of two, at most half full
  std::size_t size_ = 0;
};

}  // namespace tangram::core
