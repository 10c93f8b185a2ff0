// EventStream: server-sent events as a client reads them, from bytes cut anywhere. One rule: a
// message is passed on when its blank line has come, and not before.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "http/client.hpp"

namespace tangram::http {

class EventStream {
 public:
  using Take = std::function<bool(const EventPiece&)>;
  explicit EventStream(Take take) : take_(std::move(take)) {}

  // false: no more is wanted, or a line is longer than any daemon's.
  [[nodiscard]] bool feed(std::string_view bytes);
  // The taker has said so.
  [[nodiscard]] bool enough() const { return enough_; }

 private:
  static constexpr std::size_t kLongestLine = std::size_t{16} << 20U;

  [[nodiscard]] bool line(std::string_view text);
  [[nodiscard]] bool pass_on();

  Take take_;
  std::string rest_;  // of a line that has not ended yet
  std::uint64_t id_ = 0;
  std::string kind_;
  std::string data_;
  bool enough_ = false;
};

}  // namespace tangram::http
