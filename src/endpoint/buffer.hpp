// Buffer: bytes that came and were not passed on yet, in one piece. It exists so that a connection
// costs little while it is idle and never more than its limit when the other side is slow. One
// rule: memory moves only in room(), so that a read under way has a place that stays.
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
  static constexpr std::size_t kSmall = std::size_t{4} * 1'024;

  [[nodiscard]] std::string_view view() const { return {bytes_.get() + begin_, end_ - begin_}; }
  [[nodiscard]] std::size_t size() const { return end_ - begin_; }
  [[nodiscard]] bool empty() const { return begin_ == end_; }

  void consume(std::size_t count) {
    CHECK(count <= size());
    begin_ += count;
  }
  // Where more can be written, so that there are at most `limit` bytes; empty: it is full.
  [[nodiscard]] std::span<char> room(std::size_t limit) {
    if (size() >= limit) return {};
    if (empty()) fit(limit);
    if (end_ == capacity_) make_room(limit);
    return {bytes_.get() + end_, std::min(capacity_ - end_, limit - size())};
  }
  void commit(std::size_t count) {
    CHECK(count <= capacity_ - end_);
    end_ += count;
    last_ = count;
    was_filled_ = end_ == capacity_;
  }

 private:
  // What came filled it: there is more where that came from, and each piece costs a read and a
  // send, so the next one may be as large as it can. What a large message needed goes once small
  // ones come again.
  void fit(std::size_t limit) {
    begin_ = end_ = 0;
    const bool is_too_small = was_filled_ && capacity_ > 0 && capacity_ < limit;
    const bool is_too_large = capacity_ > kSmall && last_ <= kSmall / 2;
    if (!is_too_small && !is_too_large) return;
    capacity_ = is_too_small ? limit : 0;
    bytes_ = is_too_small ? std::make_unique_for_overwrite<char[]>(limit) : nullptr;
    was_filled_ = false;
  }
  // What came filled it all: more will come, so it grows at once as far as it may.
  void make_room(std::size_t limit) {
    if (begin_ > 0) {
      std::memmove(bytes_.get(), bytes_.get() + begin_, size());
    } else {
      const std::size_t larger = capacity_ == 0 ? std::min(kSmall, limit) : limit;
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
  std::size_t last_ = 0;  // how much came at once
  bool was_filled_ = false;
};

}  // namespace tangram::endpoint
