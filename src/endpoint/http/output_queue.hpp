// OutputQueue: pending output of one direction of an HTTP exchange: first text that the endpoint
// generated (heads, error responses), then bytes at the front of the sender's input buffer, which
// are relayed unchanged. Those bytes are not copied unless a retry may need them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "endpoint/net/socket.hpp"

namespace tangram::endpoint {

class OutputQueue {
 public:
  // Bytes of a request body that are kept for a retry: a reused keep-alive connection may turn out
  // to be closed, and the request is then sent again on a new one.
  static constexpr std::size_t kMaxHeld = std::size_t{64} * 1'024;

  std::string& text() { return text_; }
  // Queues the next `count` bytes of `from`'s input buffer.
  void add(Socket& from, std::size_t count) {
    if (!is_held_) {
      ready_ += count;
      return;
    }
    text_ += from.in.view().substr(0, count);
    from.in.consume(count);
    if (text_.size() > text_limit_) is_held_ = false;
  }
  // The part of `from`'s input buffer that is not queued yet.
  [[nodiscard]] std::string_view unqueued(const Socket& from) const {
    return from.in.view().substr(ready_);
  }

  // Keeps everything queued so far and from now on until release(), so that rewind() can send it
  // again. Keeping stops on its own once more than kMaxHeld bytes follow.
  void hold_for_retry(Socket& from) {
    is_held_ = true;
    text_limit_ = text_.size() + kMaxHeld;
    add(from, std::exchange(ready_, 0));
  }
  void release() {
    is_held_ = false;
    forget_sent();
  }
  [[nodiscard]] bool is_held() const { return is_held_; }
  void rewind() { sent_ = 0; }

  // Sends as much as the socket accepts without blocking. False: `to` is broken.
  bool flush(Socket& from, Socket& to) {
    const std::size_t left = text_.size() - sent_;
    const std::size_t count =
        to.send(std::string_view(text_).substr(sent_), from.in.view().substr(0, ready_));
    const std::size_t of_text = std::min(count, left);
    sent_ += of_text;
    ready_ -= count - of_text;
    from.in.consume(count - of_text);
    if (!is_held_) forget_sent();
    return !to.is_broken();
  }
  // Drops the queued output, because its receiver is gone.
  void discard(Socket& from) {
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
  std::size_t sent_ = 0;   // bytes of text_ that were sent
  std::size_t ready_ = 0;  // queued bytes of the sender's buffer; they follow the text
  std::size_t text_limit_ = 0;
  bool is_held_ = false;
};

}  // namespace tangram::endpoint
