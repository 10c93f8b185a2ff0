// SseParser: an incremental parser of server-sent events. A message is passed on when its closing
// blank line has been read, and not before.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "http/client/client.hpp"

namespace tangram::http {

class SseParser {
 public:
  using Take = std::function<bool(const ServerSentEvent&)>;
  // `take` gets each message; returning false stops.
  explicit SseParser(Take take) : take_(std::move(take)) {}

  // Parses the next bytes, however they were split. False: `take` has returned false, or a line is
  // too long.
  [[nodiscard]] bool feed(std::string_view bytes);
  // Whether `take` has returned false.
  [[nodiscard]] bool is_stopped() const { return is_stopped_; }

 private:
  static constexpr std::size_t kMaxLine = std::size_t{16} << 20U;

  [[nodiscard]] bool parse_line(std::string_view text);
  [[nodiscard]] bool dispatch();

  Take take_;
  std::string partial_line_;
  std::uint64_t id_ = 0;
  std::string kind_;
  std::string data_;
  bool is_stopped_ = false;
};

}  // namespace tangram::http
