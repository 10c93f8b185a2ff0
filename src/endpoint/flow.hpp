// Flow: one direction of an HTTP exchange on its way out: first text that the endpoint wrote
// (heads, refusals), then bytes that lie at the front of the other side's buffer and pass as they
// came. One rule: bytes are not copied from there, unless they may have to be sent again.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "endpoint/wire.hpp"

namespace tangram::endpoint {

class Flow {
 public:
  // A request on a connection that was idle may find it closed and must then go again, on a fresh
  // one: so much of its body is kept for that.
  static constexpr std::size_t kMostHeld = std::size_t{64} * 1'024;

  std::string& text() { return text_; }
  // The next `count` bytes at the front of `from` are to go.
  void add(Wire& from, std::size_t count) {
    if (!is_held_) {
      ready_ += count;
      return;
    }
    text_ += from.in.view().substr(0, count);
    from.in.consume(count);
    if (text_.size() > text_limit_) is_held_ = false;
  }
  // How much of `from` is not added yet.
  [[nodiscard]] std::string_view rest(const Wire& from) const {
    return from.in.view().substr(ready_);
  }

  // Everything so far and from here on stays for rewind().
  void hold(Wire& from) {
    is_held_ = true;
    text_limit_ = text_.size() + kMostHeld;
    add(from, std::exchange(ready_, 0));
  }
  void release() {
    is_held_ = false;
    forget_sent();
  }
  [[nodiscard]] bool is_held() const { return is_held_; }
  void rewind() { sent_ = 0; }

  // As much as goes now. False: nothing can be sent any more.
  bool push(Wire& from, Wire& to) {
    const std::size_t left = text_.size() - sent_;
    const std::size_t count =
        to.send(std::string_view(text_).substr(sent_), from.in.view().substr(0, ready_));
    const std::size_t of_text = std::min(count, left);
    sent_ += of_text;
    ready_ -= count - of_text;
    from.in.consume(count - of_text);
    if (!is_held_) forget_sent();
    return !to.broken();
  }
  // Whoever should get it is gone.
  void discard(Wire& from) {
    from.in.consume(ready_);
    reset();
  }
  void reset() {
    text_.clear();
    sent_ = ready_ = 0;
    is_held_ = false;
  }

  [[nodiscard]] bool empty() const { return sent_ == text_.size() && ready_ == 0; }
  [[nodiscard]] std::size_t unsent_text() const { return text_.size() - sent_; }

 private:
  void forget_sent() {
    if (sent_ < text_.size()) return;
    text_.clear();
    sent_ = 0;
  }

  std::string text_;
  std::size_t sent_ = 0;   // of the text
  std::size_t ready_ = 0;  // of the other side's buffer, once the text is gone
  std::size_t text_limit_ = 0;
  bool is_held_ = false;
};

}  // namespace tangram::endpoint
