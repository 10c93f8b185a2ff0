// Buffer: received bytes that were not relayed yet, contiguous. It is small while a connection is
// idle, and never larger than the limit that its owner passes to prepare(). Memory is moved or
// reallocated in prepare() only, so the span it returned stays valid during an asynchronous read.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

#include "base/check.hpp"

namespace tangram::endpoint {

class Buffer {
 public:
  static constexpr std::size_t kInitialSize = std::size_t{4} * 1'024;

  [[nodiscard]] std::string_view view() const { return {bytes_.get() + begin_, end_ - begin_}; }
  [[nodiscard]] std::size_t size() const { return end_ - begin_; }
  [[nodiscard]] bool empty() const { return begin_ == end_; }

  void consume(std::size_t count) {
    CHECK(count <= size());
    begin_ += count;
  }
  // Returns space to write to, such that size() stays within `limit`; empty if the buffer is full.
  [[nodiscard]] std::span<char> prepare(std::size_t limit) {
    if (size() >= limit) return {};
    if (empty()) resize_empty(limit);
    if (end_ == capacity_) compact_or_grow(limit);
    return {bytes_.get() + end_, std::min(capacity_ - end_, limit - size())};
  }
  // `count` bytes were written to the span that prepare() returned.
  void commit(std::size_t count) {
    CHECK(count <= capacity_ - end_);
    end_ += count;
    last_commit_ = count;
    was_filled_ = end_ == capacity_;
  }

 private:
  // A read that fills the buffer suggests that more is coming: the buffer grows to the limit, for
  // fewer reads and sends. It shrinks again once reads are small.
  void resize_empty(std::size_t limit) {
    begin_ = end_ = 0;
    const bool is_too_small = was_filled_ && capacity_ > 0 && capacity_ < limit;
    const bool is_too_large = capacity_ > kInitialSize && last_commit_ <= kInitialSize / 2;
    if (!is_too_small && !is_too_large) return;
    capacity_ = is_too_small ? limit : 0;
    bytes_ = is_too_small ? std::make_unique_for_overwrite<char[]>(limit) : nullptr;
    was_filled_ = false;
  }
  void compact_or_grow(std::size_t limit) {
    if (begin_ > 0) {
      std::memmove(bytes_.get(), bytes_.get() + begin_, size());
    } else {
      const std::size_t larger = capacity_ == 0 ? std::min(kInitialSize, limit) : limit;
      auto bytes = std::make_unique_for_overwrite<char[]>(larger);
      if (size() > 0) std::memcpy(bytes.get(), bytes_.get(), size());
      bytes_ = std::move(bytes);
      capacity_ = larger;
    }
    end_ -= begin_;
    begin_ = 0;
  }

  std::unique_ptr<char[]> bytes_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::size_t last_commit_ = 0;  // size of the last read
  bool was_filled_ = false;
};

}  // namespace tangram::endpoint
