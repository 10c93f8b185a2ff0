// See head.hpp: parsing.
#include <algorithm>
#include <array>
#include <charconv>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>

#include "base/text.hpp"
#include "endpoint/http/characters.hpp"
#include "endpoint/http/head.hpp"

namespace tangram::endpoint {
namespace {

namespace beast = boost::beast;
using beast::http::field;
using ErrorStatus = beast::error_code;

std::string_view view_of(beast::string_view text) { return {text.data(), text.size()}; }

// Every field is compared with every name in Connection, so their number is bounded.
constexpr std::size_t kMaxConnectionFields = 64;

bool has_prefix(std::string_view name, std::string_view prefix) {
  return is_same(name.substr(0, prefix.size()), prefix);
}

// Whether a server may take the field for Forwarded or X-Forwarded-*. Interfaces derived from CGI
// (e.g. WSGI) do not distinguish '_' from '-'.
bool is_forwarding(std::string_view name) {
  constexpr std::string_view kPrefix = "X-Forwarded-";
  const auto is_same_for_cgi = [](std::string_view a, std::string_view b) {
    const auto plain = [](char c) { return c == '_' ? '-' : lower(c); };
    return std::ranges::equal(a, b, {}, plain, plain);
  };
  return is_same_for_cgi(name, "Forwarded") ||
         is_same_for_cgi(name.substr(0, kPrefix.size()), kPrefix);
}

Field::Kind kind_of(field id, std::string_view name) {
  switch (id) {
    case field::connection:
    case field::keep_alive:
    case field::te:
      return Field::Kind::kHop;
    case field::upgrade:
      return Field::Kind::kUpgrade;
    case field::content_length:
    case field::transfer_encoding:
      return Field::Kind::kFraming;
    case field::host:
      return Field::Kind::kHost;
    default:
      break;
  }
  if (has_prefix(name, "Proxy-")) return Field::Kind::kHop;
  if (is_same(name, "X-Forwarded-For")) return Field::Kind::kForwardedFor;
  if (is_same(name, "X-Forwarded-Host")) return Field::Kind::kForwardedHost;
  if (is_same(name, "X-Forwarded-Proto")) return Field::Kind::kForwardedProto;
  if (is_forwarding(name)) return Field::Kind::kForwardedOther;
  return Field::Kind::kPlain;
}

void read_connection(std::string_view list, Head& head) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::string_view word = trim(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
    if (is_same(word, "close")) {
      head.connection_close = true;
    } else if (is_same(word, "keep-alive")) {
      head.connection_keep_alive = true;
    } else if (is_same(word, "upgrade")) {
      head.connection_upgrade = true;
    } else if (!word.empty()) {
      head.connection_fields.push_back(word);
    }
  }
}

// HTTP/2 would bind all requests to one connection and bypass the choice of a replica per request.
bool names_http2(std::string_view list) {
  for (std::size_t comma = 0; !list.empty(); list.remove_prefix(std::min(comma + 1, list.size()))) {
    comma = std::min(list.find(','), list.size());
    if (has_prefix(trim(list.substr(0, comma)), "h2")) return true;
  }
  return false;
}

// Parses heads only: it never gets a byte of a body.
template <bool IsRequest>
class Parser final : public beast::http::basic_parser<IsRequest> {
 public:
  Parser(Head& head, RequestHead* request, ResponseHead* response)
      : head_(head), request_(request), response_(response) {
    this->header_limit(static_cast<std::uint32_t>(kMaxHeadSize));
    this->body_limit(boost::none);
  }

  int lengths = 0;
  int encodings = 0;
  int hosts = 0;
  std::string_view length;
  std::string_view encoding;
  bool has_upgrade = false;
  bool offers_http2 = false;  // in any Upgrade field

 private:
  void on_request_impl(beast::http::verb /*verb*/, beast::string_view method,
                       beast::string_view target, int version, ErrorStatus& /*status*/) override {
    head_.is_http11 = version == 11;
    request_->method = view_of(method);
    request_->target = view_of(target);
  }
  void on_response_impl(int code, beast::string_view reason, int version,
                        ErrorStatus& /*status*/) override {
    head_.is_http11 = version == 11;
    response_->status = code;
    response_->reason = view_of(reason);
  }
  void on_field_impl(field id, beast::string_view name, beast::string_view value,
                     ErrorStatus& /*status*/) override {
    const std::string_view text = view_of(value);
    head_.fields.push_back({view_of(name), text, kind_of(id, view_of(name))});
    note(id, text);
  }
  void note(field id, std::string_view text) {
    if (id == field::connection) read_connection(text, head_);
    if (id == field::upgrade) {
      has_upgrade = has_upgrade || !text.empty();
      offers_http2 = offers_http2 || names_http2(text);
    }
    if (id == field::content_length) {
      ++lengths;
      length = text;
    } else if (id == field::transfer_encoding) {
      ++encodings;
      encoding = text;
    } else if (request_ != nullptr && id == field::host) {
      ++hosts;
      request_->host = text;
    } else if (request_ != nullptr && id == field::expect) {
      request_->expects_continue = is_same(text, "100-continue");
    }
  }
  void on_header_impl(ErrorStatus& /*status*/) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>& /*length*/,
                         ErrorStatus& /*status*/) override {}
  std::size_t on_body_impl(beast::string_view body, ErrorStatus& /*status*/) override {
    return body.size();
  }
  void on_chunk_header_impl(std::uint64_t /*size*/, beast::string_view /*extensions*/,
                            ErrorStatus& /*status*/) override {}
  std::size_t on_chunk_body_impl(std::uint64_t /*left*/, beast::string_view body,
                                 ErrorStatus& /*status*/) override {
    return body.size();
  }
  void on_finish_impl(ErrorStatus& /*status*/) override {}

  Head& head_;
  RequestHead* request_;
  ResponseHead* response_;
};

std::unexpected<HeadError> head_error(std::string detail, int status = 400) {
  return std::unexpected(HeadError{status, std::move(detail)});
}

// Rejects framing that Beast accepts but that two HTTP implementations in a row could interpret
// differently, so that one of them takes part of a body for a message (request smuggling).
template <class AnyParser>
std::expected<void, HeadError> read_framing(const AnyParser& parser, Head& head) {
  if (parser.lengths + parser.encodings > 1) {
    return head_error(
        "malformed head: Content-Length or Transfer-Encoding is given more than once");
  }
  if (parser.encodings == 1) {
    if (!is_same(parser.encoding, "chunked")) {
      return head_error("unsupported Transfer-Encoding: only chunked is relayed");
    }
    if (!head.is_http11)
      return head_error("malformed head: Transfer-Encoding is not allowed in HTTP/1.0");
    head.framing = Framing::kChunked;
  }
  if (parser.lengths == 1) {
    const std::string_view text = parser.length;
    const auto [at, status] = std::from_chars(text.data(), text.data() + text.size(), head.length);
    if (status != std::errc{} || at != text.data() + text.size())
      return head_error("malformed head: Content-Length must be a number");
    head.framing = Framing::kLength;
  }
  return {};
}

template <class AnyParser>
std::expected<void, HeadError> parse(std::string_view bytes, AnyParser& parser) {
  ErrorStatus status;
  const std::size_t used = parser.put(boost::asio::buffer(bytes.data(), bytes.size()), status);
  if (status) return head_error(cat("malformed head: ", status.message()));
  if (used != bytes.size()) return head_error("malformed head: missing empty line");
  return {};
}

// Some servers omit the blank after the status code if they give no reason ("HTTP/1.1 200").
// Clients accept that, Beast does not: pass it the status line with the blank, then the rest.
std::expected<void, HeadError> parse_response(std::string_view bytes, Parser<false>& parser) {
  constexpr std::size_t kShortest = std::string_view("HTTP/1.1 200").size();
  if (bytes.find("\r\n") != kShortest) return parse(bytes, parser);
  const std::string line = cat(bytes.substr(0, kShortest), " \r\n");
  ErrorStatus status;
  const std::size_t used = parser.put(boost::asio::buffer(line), status);
  if (status != beast::http::error::need_more || used != line.size()) {
    return head_error(cat("malformed head: ", status.message()));
  }
  return parse(bytes.substr(kShortest + 2), parser);
}

void clear(Head& head) {
  auto fields = std::move(head.fields);
  auto connection_fields = std::move(head.connection_fields);
  head = Head{};
  fields.clear();
  connection_fields.clear();
  head.fields = std::move(fields);
  head.connection_fields = std::move(connection_fields);
}

bool is_idempotent(std::string_view method) {
  static constexpr std::array<std::string_view, 6> kMethods = {"GET", "HEAD",   "OPTIONS",
                                                               "PUT", "DELETE", "TRACE"};
  return std::ranges::find(kMethods, method) != kMethods.end();
}

bool has_body(int status, bool to_head) {
  return !to_head && status >= 200 && status != 204 && status != 304;
}

}  // namespace

HeadScan::State HeadScan::scan(std::string_view bytes) {
  while (true) {
    const std::size_t end = bytes.find('\n', scanned_);
    if (end == std::string_view::npos) {
      scanned_ = bytes.size();
      return bytes.size() >= kMaxHeadSize ? State::kTooLarge : State::kIncomplete;
    }
    if (end == 0 || bytes[end - 1] != '\r') return State::kInvalid;
    const bool is_empty = end - 1 == line_;
    const bool is_folded = line_ > 0 && is_blank(bytes[line_]);
    scanned_ = line_ = end + 1;
    if (line_ > kMaxHeadSize) return State::kTooLarge;
    if (is_folded) return State::kInvalid;
    if (is_empty) return State::kComplete;
  }
}

std::expected<void, HeadError> parse_head(std::string_view bytes, RequestHead& out) {
  clear(out);
  out.host = {};
  out.expects_continue = false;
  Parser<true> parser(out, &out, nullptr);
  if (auto parsed = parse(bytes, parser); !parsed) return parsed;
  if (auto framed = read_framing(parser, out); !framed) return framed;
  if (out.connection_fields.size() > kMaxConnectionFields) {
    return head_error("malformed head: Connection lists too many fields");
  }
  if (parser.hosts > 1 || (out.is_http11 && parser.hosts == 0)) {
    return head_error("malformed head: HTTP/1.1 requires exactly one Host field");
  }
  if (out.method == "CONNECT") return head_error("unsupported method: CONNECT is not relayed", 501);
  out.is_idempotent = is_idempotent(out.method);
  out.wants_upgrade = out.is_http11 && out.connection_upgrade && parser.has_upgrade &&
                      !parser.offers_http2 && out.framing == Framing::kNone;
  return {};
}

std::expected<void, HeadError> parse_head(std::string_view bytes, bool to_head, ResponseHead& out) {
  clear(out);
  Parser<false> parser(out, nullptr, &out);
  if (auto parsed = parse_response(bytes, parser); !parsed) return parsed;
  if (out.reason.empty()) out.reason = {};  // it may point into parse_response()'s local line
  if (out.status < 100) return head_error("malformed head: invalid status code");
  if (out.connection_fields.size() > kMaxConnectionFields) {
    return head_error("malformed head: Connection lists too many fields");
  }
  if (auto framed = read_framing(parser, out); !framed) return framed;
  if (!has_body(out.status, to_head)) {
    out.framing = Framing::kNone;
  } else if (out.framing == Framing::kNone) {
    out.framing = Framing::kUntilClose;
  }
  return {};
}

}  // namespace tangram::endpoint
