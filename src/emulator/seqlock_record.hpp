// SeqlockRecord: a record in shared memory that is read without a lock and never seen half written,
// not even if its writer is killed. It has two copies and a version, whose parity selects the valid
// copy. A writer fills the other copy and then increments the version. Only the holder of the
// file's lock may commit.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>

#include "emulator/state.hpp"

namespace tangram::emulator {

template <Shareable T>
class SeqlockRecord {
 public:
  // Returns the current record; it may change right after.
  [[nodiscard]] T read() const {
    T copy;
    std::uint64_t seen = 0;
    do {
      seen = version_.load(std::memory_order_acquire);
      load(copy, copies_[seen & 1U]);
    } while (version_.load(std::memory_order_relaxed) != seen);
    return copy;
  }

  void commit(const T& value) {
    const std::uint64_t next = version_.load(std::memory_order_relaxed) + 1;
    store(copies_[next & 1U], value);
    version_.store(next, std::memory_order_release);
  }

 private:
  using Words = std::uint64_t[sizeof(T) / 8];

  // Acquire and release: a reader that sees a word of a later commit also sees the changed version.
  // (Fences would do, but the thread sanitizer does not know them.)
  static void load(T& to, Words& from) {
    Words words;
    for (std::size_t i = 0; i < sizeof(T) / 8; ++i) {
      words[i] = std::atomic_ref(from[i]).load(std::memory_order_acquire);
    }
    std::memcpy(static_cast<void*>(&to), words, sizeof(T));
  }
  static void store(Words& to, const T& from) {
    Words words;
    std::memcpy(words, &from, sizeof(T));
    for (std::size_t i = 0; i < sizeof(T) / 8; ++i) {
      std::atomic_ref(to[i]).store(words[i], std::memory_order_release);
    }
  }

  std::atomic<std::uint64_t> version_;
  mutable Words copies_[2];  // mutable: std::atomic_ref needs non-const, even to load
};

}  // namespace tangram::emulator
