// See entry_pool.hpp.
#include "core/entry_pool.hpp"

#include <algorithm>

namespace tangram::core {

std::uint32_t EntryPool::take(std::size_t size_class) {
  CHECK(size_class < kClasses);
  Pool& pool = pools_[size_class];
  if (!pool.free.empty()) {
    const std::uint32_t at = pool.free.back();
    pool.free.pop_back();
    return at;
  }
  const auto at = static_cast<std::uint32_t>(pool.entries.size());
  pool.entries.resize(pool.entries.size() + capacity(size_class));
  return at;
}

void EntryPool::push(EntryBlock& b, const Entry& entry) {
  if (b.size_class == EntryBlock::kNoBlock) {
    b = {.at = take(0), .count = 0, .size_class = 0};
  } else if (b.count == capacity(b.size_class)) {
    const auto larger = static_cast<std::uint8_t>(b.size_class + 1);
    const std::uint32_t at = take(larger);
    std::ranges::copy(of(b), pools_[larger].entries.begin() + at);
    pools_[b.size_class].free.push_back(b.at);
    b = {.at = at, .count = b.count, .size_class = larger};
  }
  pools_[b.size_class].entries[b.at + b.count] = entry;
  ++b.count;
}

void EntryPool::erase(EntryBlock& b, std::size_t position) {
  CHECK(position < b.count);
  const std::span<Entry> entries = of(b);
  std::move(entries.begin() + static_cast<std::ptrdiff_t>(position) + 1, entries.end(),
            entries.begin() + static_cast<std::ptrdiff_t>(position));
  --b.count;
}

void EntryPool::clear(EntryBlock& b) {
  if (b.size_class != EntryBlock::kNoBlock) pools_[b.size_class].free.push_back(b.at);
  b = {};
}

std::size_t EntryPool::bytes() const {
  std::size_t sum = 0;
  for (const Pool& pool : pools_) {
    sum += pool.entries.capacity() * sizeof(Entry) + pool.free.capacity() * sizeof(std::uint32_t);
  }
  return sum;
}

}  // namespace tangram::core
