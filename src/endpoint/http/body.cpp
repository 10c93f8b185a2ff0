// See body.hpp. Implements the grammar of RFC 9112, section 7.1, strictly.
#include "endpoint/http/body.hpp"

#include <algorithm>

#include "endpoint/http/characters.hpp"

namespace tangram::endpoint {
namespace {

constexpr int kMaxDigits = 16;

int hex_of(char byte) {
  if (byte >= '0' && byte <= '9') return byte - '0';
  if (byte >= 'a' && byte <= 'f') return byte - 'a' + 10;
  if (byte >= 'A' && byte <= 'F') return byte - 'A' + 10;
  return -1;
}

}  // namespace

Body::Body(Framing framing, std::uint64_t length) : framing_(framing) {
  switch (framing) {
    case Framing::kNone:
      break;
    case Framing::kLength:
      left_ = length;
      state_ = length == 0 ? State::kComplete : State::kBytes;
      break;
    case Framing::kChunked:
      state_ = State::kSizeFirst;
      break;
    case Framing::kUntilClose:
      state_ = State::kUntilClose;
      break;
  }
}

void Body::on_eof() {
  if (state_ != State::kComplete) {
    state_ = state_ == State::kUntilClose ? State::kComplete : State::kBroken;
  }
}

std::size_t Body::take(std::string_view bytes) {
  std::size_t taken = 0;
  while (taken < bytes.size() && state_ != State::kComplete && state_ != State::kBroken) {
    if (state_ == State::kUntilClose) return bytes.size();
    if (state_ == State::kBytes) {
      taken += take_bytes(bytes.size() - taken);
      continue;
    }
    state_ = next(bytes[taken]);
    if (state_ != State::kBroken) ++taken;
  }
  return taken;
}

std::size_t Body::take_bytes(std::size_t count) {
  const std::uint64_t taken = std::min<std::uint64_t>(left_, count);
  left_ -= taken;
  if (left_ == 0) state_ = framing_ == Framing::kChunked ? State::kChunkEnd : State::kComplete;
  return static_cast<std::size_t>(taken);
}

Body::State Body::next(char byte) {
  switch (state_) {
    case State::kSizeEnd:
      return byte == '\n' ? after_size() : State::kBroken;
    case State::kChunkEnd:
      return byte == '\r' ? State::kChunkEndLf : State::kBroken;
    case State::kChunkEndLf:
      return byte == '\n' ? State::kSizeFirst : State::kBroken;
    case State::kLineEnd:
      return byte == '\n' ? State::kLineFirst : State::kBroken;
    case State::kLastEnd:
      return byte == '\n' ? State::kComplete : State::kBroken;
    case State::kLineFirst:
    case State::kName:
    case State::kValue:
      return next_in_trailer(byte);
    default:
      return next_in_size(byte);
  }
}

Body::State Body::after_size() {
  line_ = 0;
  return left_ == 0 ? State::kLineFirst : State::kBytes;
}

Body::State Body::next_in_size(char byte) {
  if (state_ == State::kSizeFirst) {
    left_ = 0;
    line_ = 0;
    digits_ = 0;
  }
  if (++line_ > kMaxChunkLine) return State::kBroken;
  if (const int digit = hex_of(byte);
      digit >= 0 && (state_ == State::kSizeFirst || state_ == State::kSize)) {
    if (++digits_ > kMaxDigits) return State::kBroken;
    left_ = left_ * 16 + static_cast<std::uint64_t>(digit);
    return State::kSize;
  }
  if (state_ == State::kSizeFirst) return State::kBroken;
  if (state_ == State::kQuoted || state_ == State::kEscaped) return next_in_quotes(byte);
  if (byte == '\r') return State::kSizeEnd;
  if (state_ == State::kExtension && byte == '"') return State::kQuoted;
  if (state_ == State::kExtension) return is_text(byte) ? State::kExtension : State::kBroken;
  if (byte == ';') return State::kExtension;
  return is_blank(byte) ? State::kBlank : State::kBroken;
}

Body::State Body::next_in_quotes(char byte) const {
  if (!is_text(byte)) return State::kBroken;
  if (state_ == State::kEscaped) return State::kQuoted;
  if (byte == '"') return State::kExtension;
  return byte == '\\' ? State::kEscaped : State::kQuoted;
}

Body::State Body::next_in_trailer(char byte) {
  if (++line_ > kMaxTrailer) return State::kBroken;
  if (state_ == State::kValue) {
    if (byte == '\r') return State::kLineEnd;
    return is_text(byte) ? State::kValue : State::kBroken;
  }
  if (state_ == State::kLineFirst && byte == '\r') return State::kLastEnd;
  if (state_ == State::kName && byte == ':') return State::kValue;
  return is_token(byte) ? State::kName : State::kBroken;
}

}  // namespace tangram::endpoint
