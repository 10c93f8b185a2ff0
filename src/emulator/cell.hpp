// Cell: a record in shared memory that can be read without a lock and never be seen half written,
// not even when its writer is killed. It has two copies and a version; the copy that counts is the
// version's parity. A writer prepares the other copy and then raises the version. One rule: only
// the holder of the file's lock commits.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>

#include "emulator/state.hpp"

namespace tangram::emulator {

template <Shareable T>
class Cell {
 public:
  // The record as it is now, or was a moment ago.
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

  // Acquire and release: whoever reads a word of a later commit also sees that the version has
  // changed. (Fences would do the same, but the thread sanitizer does not know them.)
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
  mutable Words copies_[2];  // std::atomic_ref takes nothing const, also to load
};

}  // namespace tangram::emulator
