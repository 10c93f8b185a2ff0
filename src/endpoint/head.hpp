// Heads: the first part of an HTTP/1.1 message, start line and fields, read from the bytes of one
// side and written anew for the other. The grammar is Beast's; what goes beyond it, above all what
// two programs in a row could understand differently, is refused here. One rule: a head holds no
// text of its own: its views are good as long as the bytes it was read from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "endpoint/body.hpp"

namespace tangram::endpoint {

inline constexpr std::size_t kLargestHead = std::size_t{64} * 1'024;

// Finds the end of a head, also if it comes in many pieces.
class HeadScan {
 public:
  enum class State : std::uint8_t { kMore, kWhole, kBad, kTooLarge };
  // `bytes` begins with the head, and is what it was before with more at its end.
  [[nodiscard]] State look(std::string_view bytes);
  [[nodiscard]] std::size_t size() const { return line_; }  // of the whole head

 private:
  std::size_t line_ = 0;     // where the line begins that is not whole yet
  std::size_t scanned_ = 0;  // no end of a line before this
};

struct Field {
  enum class Kind : std::uint8_t {
    kPlain,
    kHop,  // for the next one only: Connection, Keep-Alive, Proxy-*, TE
    kUpgrade,
    kFraming,  // Content-Length and Transfer-Encoding: they stay, whatever Connection names
    kHost,     // stays, too
    kForwardedFor,
    kForwardedHost,
    kForwardedProto,
  };
  std::string_view name;
  std::string_view value;
  Kind kind = Kind::kPlain;
};

struct Head {
  bool is_11 = true;  // HTTP/1.1, else 1.0
  std::vector<Field> fields;
  std::vector<std::string_view> named;  // by Connection, besides the words below
  bool says_close = false;
  bool says_keep_alive = false;
  bool says_upgrade = false;
  std::uint64_t length = 0;
  Framing framing = Framing::kNone;

  [[nodiscard]] bool keeps_alive() const { return is_11 ? !says_close : says_keep_alive; }
};

struct RequestHead : Head {
  std::string_view method;
  std::string_view target;
  std::string_view host;
  bool is_idempotent = false;
  bool expects_continue = false;
  bool upgrades = false;  // it asks for another protocol; not for HTTP/2, which is not relayed
};

struct ResponseHead : Head {
  int status = 0;
  std::string_view reason;
};

// How a head that is no good is answered.
struct Mistake {
  int status = 400;
  std::string detail;
};

// `bytes` is a whole head, and `out` is filled anew.
[[nodiscard]] std::expected<void, Mistake> read_head(std::string_view bytes, RequestHead& out);
// `to_head`: it answers a HEAD request, and has no body.
[[nodiscard]] std::expected<void, Mistake> read_head(std::string_view bytes, bool to_head,
                                                     ResponseHead& out);

// What is added for the replica; none: nothing.
struct Forwarded {
  std::string_view address;  // of the client
};
void write_head(std::string& out, const RequestHead& head, const Forwarded* forwarded);
// `keeps`: whether the client's connection is used on; `is_11`: the client speaks HTTP/1.1.
void write_head(std::string& out, const ResponseHead& head, bool keeps, bool is_11);

}  // namespace tangram::endpoint
