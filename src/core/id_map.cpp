// See id_map.hpp.
#include "core/id_map.hpp"

#include <utility>

#include "base/check.hpp"

namespace tangram::core {

std::size_t IdMap::position(JobId id) const {
  std::size_t at = home(id);
  while (cells_[at].slot != kNoJob && cells_[at].id != id) at = (at + 1) & (cells_.size() - 1);
  return at;
}

JobSlot IdMap::find(JobId id) const { return cells_[position(id)].slot; }

void IdMap::insert(JobId id, JobSlot slot) {
  if ((size_ + 1) * 2 > cells_.size()) grow();
  Cell& cell = cells_[position(id)];
  CHECK(cell.slot == kNoJob);
  cell = {id, slot};
  ++size_;
}

// Closes the gap, so that no tombstones pile up.
void IdMap::erase(JobId id) {
  std::size_t gap = position(id);
  CHECK(cells_[gap].slot != kNoJob);
  const std::size_t mask = cells_.size() - 1;
  for (std::size_t at = (gap + 1) & mask; cells_[at].slot != kNoJob; at = (at + 1) & mask) {
    if (((at - home(cells_[at].id)) & mask) < ((at - gap) & mask)) continue;
    cells_[gap] = cells_[at];
    gap = at;
  }
  cells_[gap] = {};
  --size_;
}

void IdMap::grow() {
  std::vector<Cell> old = std::exchange(cells_, std::vector<Cell>(cells_.size() * 2));
  for (const Cell& cell : old) {
    if (cell.slot != kNoJob) cells_[position(cell.id)] = cell;
  }
}

}  // namespace tangram::core
