// Body: an incremental parser that finds the end of a message body. Bodies are relayed unchanged,
// each byte as soon as it arrives; a parser that collects whole lines first (Beast keeps the end of
// a chunk until the next one begins) would delay them. Anything that two HTTP implementations could
// parse differently, above all a line ending other than CRLF, is rejected (request smuggling).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tangram::endpoint {

enum class Framing : std::uint8_t { kNone, kLength, kChunked, kUntilClose };

class Body {
 public:
  static constexpr std::size_t kMaxChunkLine = std::size_t{4} * 1'024;
  static constexpr std::size_t kMaxTrailer = std::size_t{16} * 1'024;

  Body() = default;
  explicit Body(Framing framing, std::uint64_t length = 0);

  // Returns how many of `bytes` belong to the body. Fewer than bytes.size(): the body is complete
  // or malformed.
  [[nodiscard]] std::size_t take(std::string_view bytes);
  // The sender closed the connection properly (EOF): completes a kUntilClose body, breaks others.
  void on_eof();

  [[nodiscard]] Framing framing() const { return framing_; }
  [[nodiscard]] bool is_complete() const { return state_ == State::kComplete; }
  [[nodiscard]] bool is_broken() const { return state_ == State::kBroken; }

 private:
  enum class State : std::uint8_t {
    kComplete,
    kBroken,
    kBytes,  // `left_` more bytes of a Content-Length body or of a chunk
    kUntilClose,
    kSizeFirst,  // expects the first digit of a chunk size
    kSize,
    kBlank,  // blanks between chunk size and extension
    kExtension,
    kQuoted,    // quoted string in an extension; must end on its line
    kEscaped,   // byte after a backslash in a quoted string
    kSizeEnd,   // expects the LF of the chunk-size line
    kChunkEnd,  // expects the CR after the chunk data
    kChunkEndLf,
    kLineFirst,  // first byte of a trailer line
    kName,
    kValue,
    kLineEnd,  // expects the LF of a trailer line
    kLastEnd,  // expects the LF of the empty line that ends the trailer
  };

  [[nodiscard]] std::size_t take_bytes(std::size_t count);
  [[nodiscard]] State next(char byte);
  [[nodiscard]] State next_in_size(char byte);
  [[nodiscard]] State next_in_quotes(char byte) const;
  [[nodiscard]] State next_in_trailer(char byte);
  [[nodiscard]] State after_size();

  Framing framing_ = Framing::kNone;
  State state_ = State::kComplete;
  std::uint64_t left_ = 0;
  std::size_t line_ = 0;  // length so far of the chunk-size line, or of the whole trailer
  int digits_ = 0;
};

}  // namespace tangram::endpoint
