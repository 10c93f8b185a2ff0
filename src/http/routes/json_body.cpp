// The body of a request as JSON; see route_handlers.hpp. Values are counted before parsing, so that
// a body of millions of values costs one scan and does not block the event loop.
#include <algorithm>

#include <boost/beast/core/string.hpp>
#include <boost/json/stream_parser.hpp>

#include "api/utf8.hpp"
#include "base/text.hpp"
#include "http/routes/route_handlers.hpp"

namespace tangram::http {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxValues = 100'000;

bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

// Media types are case-insensitive and may have parameters: "Application/JSON ; charset=utf-8".
bool is_json(std::string_view type) {
  type = type.substr(0, type.find(';'));
  while (!type.empty() && is_blank(type.back())) type.remove_suffix(1);
  return boost::beast::iequals({type.data(), type.size()}, kJsonType);
}

// Fast path: most bodies are plain ASCII.
bool is_utf8(const std::string& text) {
  unsigned char bits = 0;
  for (const char c : text) bits |= static_cast<unsigned char>(c);
  return bits < 0x80U || api::is_utf8(text);
}

// Whether a parser would meet more than kMaxValues values before the end or an error: every value
// is at the beginning or after ',', '[' or '{'. The parser itself limits the nesting (32).
bool has_too_many_values(std::string_view text) {
  std::size_t values = 1;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i) i += text[i] == '\\' ? 1 : 0;
    } else if ((c == ',' || c == '[' || c == '{') && ++values > kMaxValues) {
      return true;
    }
  }
  return false;
}

std::unexpected<api::Problem> bad_json(std::string detail) {
  return std::unexpected(problem(400, "bad-json", std::move(detail)));
}

}  // namespace

Answer<json::value> json_body(const Request& request) {
  if (!is_json(request.content_type)) {
    return std::unexpected(problem(
        415, "not-json",
        cat("unsupported Content-Type ", quoted(request.content_type), ": use application/json")));
  }
  if (!is_utf8(request.body)) return bad_json("invalid body: not UTF-8");
  if (has_too_many_values(request.body)) {
    return bad_json(cat("body too complex: more than ", kMaxValues, " values"));
  }
  json::error_code status;
  json::stream_parser parser;
  const std::size_t read = parser.write_some(request.body.data(), request.body.size(), status);
  if (!status) parser.finish(status);
  const std::string_view rest = std::string_view(request.body).substr(read);
  if (!status && std::ranges::all_of(rest, is_blank)) return parser.release();
  return bad_json(cat("invalid JSON in the body: ",
                      status ? cat(status.message(), " near byte ", read) : "text after the end"));
}

}  // namespace tangram::http
