// Body: where the body of a message ends, found in the bytes as they come. It exists because bodies
// are passed on as they are, each byte as soon as it is there; a parser that gathers lines first
// (Beast keeps the end of a chunk until the next one begins) would hold them back. One rule: what
// two programs could read differently, a line end that is not CRLF above all, breaks the body.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tangram::endpoint {

enum class Framing : std::uint8_t { kNone, kLength, kChunked, kUntilClose };

class Body {
 public:
  static constexpr std::size_t kLongestChunkLine = std::size_t{4} * 1'024;
  static constexpr std::size_t kLargestTrailer = std::size_t{16} * 1'024;

  Body() = default;
  explicit Body(Framing framing, std::uint64_t length = 0);

  // How many of the bytes are of the body. Fewer than there are: it is over, or broken.
  [[nodiscard]] std::size_t take(std::string_view bytes);
  // The connection had its proper end.
  void close();

  [[nodiscard]] Framing framing() const { return framing_; }
  [[nodiscard]] bool is_over() const { return state_ == State::kOver; }
  [[nodiscard]] bool is_broken() const { return state_ == State::kBroken; }

 private:
  enum class State : std::uint8_t {
    kOver,
    kBroken,
    kBytes,  // `left_` of them, of a length or a chunk
    kUntilClose,
    kSizeFirst,  // the first digit of a chunk's size
    kSize,
    kBlank,  // between the size and an extension
    kExtension,
    kQuoted,    // a text of an extension, which must end on its line
    kEscaped,   // a byte of it after a backslash
    kSizeEnd,   // LF of the chunk's first line
    kChunkEnd,  // CR after the bytes of a chunk
    kChunkEndLf,
    kLineFirst,  // of the trailer
    kName,
    kValue,
    kLineEnd,  // LF of a line of the trailer
    kLastEnd,  // LF of the empty line that ends it
  };

  [[nodiscard]] std::size_t take_bytes(std::size_t count);
  [[nodiscard]] State next(char byte);
  [[nodiscard]] State next_in_size(char byte);
  [[nodiscard]] State next_in_quotes(char byte) const;
  [[nodiscard]] State next_in_trailer(char byte);
  [[nodiscard]] State after_size();

  Framing framing_ = Framing::kNone;
  State state_ = State::kOver;
  std::uint64_t left_ = 0;
  std::size_t line_ = 0;  // bytes of the current line of a chunk, or of the trailer
  int digits_ = 0;
};

}  // namespace tangram::endpoint
