// Heads: start line and fields of an HTTP/1.1 message, parsed from one side and serialized for the
// other. Beast's parser checks the grammar; messages that two HTTP implementations in a row could
// parse differently (request smuggling) are rejected here. A head owns no text: its string_views
// point into the bytes it was parsed from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "endpoint/http/body.hpp"

namespace tangram::endpoint {

inline constexpr std::size_t kMaxHeadSize = std::size_t{64} * 1'024;

// Finds the end of a head that may arrive in many pieces.
class HeadScan {
 public:
  enum class State : std::uint8_t { kIncomplete, kComplete, kInvalid, kTooLarge };
  // `bytes` starts with the head; each call gets the bytes of the previous one plus new ones.
  [[nodiscard]] State scan(std::string_view bytes);
  // Size of the head; valid after scan() returned kComplete.
  [[nodiscard]] std::size_t size() const { return line_; }

 private:
  std::size_t line_ = 0;     // start of the first incomplete line
  std::size_t scanned_ = 0;  // there is no line end between line_ and here
};

struct Field {
  enum class Kind : std::uint8_t {
    kPlain,
    kHop,  // hop-by-hop, not forwarded: Connection, Keep-Alive, Proxy-*, TE
    kUpgrade,
    kFraming,  // Content-Length, Transfer-Encoding: forwarded even if Connection lists them
    kHost,     // forwarded even if Connection lists it
    kForwardedFor,
    kForwardedHost,
    kForwardedProto,
    kForwardedOther,  // any other X-Forwarded-*, and Forwarded (RFC 7239)
  };
  std::string_view name;
  std::string_view value;
  Kind kind = Kind::kPlain;
};

struct Head {
  bool is_http11 = true;  // else HTTP/1.0
  std::vector<Field> fields;
  // Field names that Connection lists, without the options below.
  std::vector<std::string_view> connection_fields;
  bool connection_close = false;
  bool connection_keep_alive = false;
  bool connection_upgrade = false;
  std::uint64_t length = 0;
  Framing framing = Framing::kNone;

  [[nodiscard]] bool is_keep_alive() const {
    return is_http11 ? !connection_close : connection_keep_alive;
  }
};

struct RequestHead : Head {
  std::string_view method;
  std::string_view target;
  std::string_view host;
  bool is_idempotent = false;
  bool expects_continue = false;
  bool wants_upgrade = false;  // to another protocol; false for HTTP/2, which is not relayed
};

struct ResponseHead : Head {
  int status = 0;
  std::string_view reason;
};

// Why a head is rejected, and the HTTP status to answer with.
struct HeadError {
  int status = 400;
  std::string detail;
};

// Parses a complete head. `out` is overwritten; its memory is reused.
[[nodiscard]] std::expected<void, HeadError> parse_head(std::string_view bytes, RequestHead& out);
// `to_head`: the response answers a HEAD request, so it has no body.
[[nodiscard]] std::expected<void, HeadError> parse_head(std::string_view bytes, bool to_head,
                                                        ResponseHead& out);

// Data for the X-Forwarded-* fields that are added for the replica.
struct Forwarded {
  std::string_view address;  // of the client
};
// Appends the request head to `out` as the replica gets it. `forwarded`: null to remove Forwarded
// and X-Forwarded-* fields and add none; else those of the client are trusted and completed.
void write_head(std::string& out, const RequestHead& head, const Forwarded* forwarded);
// Appends the response head to `out` as the client gets it. `keep_alive`: whether the client's
// connection stays open afterwards; `is_http11`: whether the client speaks HTTP/1.1.
void write_head(std::string& out, const ResponseHead& head, bool keep_alive, bool is_http11);

}  // namespace tangram::endpoint
