// The body of a request as JSON; see handlers.hpp. One rule: what it costs to read one is known
// before it is read. Whoever sends millions of values instead of a job pays with a glance at them,
// not with the time of the loop that all others need.
#include <algorithm>

#include <boost/beast/core/string.hpp>
#include <boost/json/stream_parser.hpp>

#include "api/words.hpp"
#include "base/text.hpp"
#include "http/handlers.hpp"

namespace tangram::http {
namespace {

namespace json = boost::json;

constexpr std::size_t kMostValues = 100'000;

bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

// "Application/JSON ; charset=utf-8" is JSON, too.
bool is_json(std::string_view type) {
  type = type.substr(0, type.find(';'));
  while (!type.empty() && is_blank(type.back())) type.remove_suffix(1);
  return boost::beast::iequals({type.data(), type.size()}, kJsonType);
}

// Mostly it is plain ASCII, which can be seen much faster.
bool is_utf8(const std::string& text) {
  unsigned char bits = 0;
  for (const char c : text) bits |= static_cast<unsigned char>(c);
  return bits < 0x80U || api::is_utf8(text);
}

// Whether a parser would meet more values than it should before it comes to the end or to a
// mistake: each stands at the beginning, or after one of these. How deep they may lie in each other
// the parser knows itself (32).
bool has_too_many_values(std::string_view text) {
  std::size_t values = 1;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i) i += text[i] == '\\' ? 1 : 0;
    } else if ((c == ',' || c == '[' || c == '{') && ++values > kMostValues) {
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
    return std::unexpected(
        problem(415, "not-json",
                cat("the body must be JSON and say so: Content-Type: application/json, not ",
                    quoted(request.content_type), ".")));
  }
  if (!is_utf8(request.body)) return bad_json("the body is not UTF-8.");
  if (has_too_many_values(request.body)) {
    return bad_json(
        cat("the body has more than ", kMostValues, " values; no request needs as many."));
  }
  json::error_code status;
  json::stream_parser parser;
  const std::size_t read = parser.write_some(request.body.data(), request.body.size(), status);
  if (!status) parser.finish(status);
  const std::string_view rest = std::string_view(request.body).substr(read);
  if (!status && std::ranges::all_of(rest, is_blank)) return parser.release();
  return bad_json(
      cat("the body is not valid JSON: ",
          status ? cat(status.message(), " near byte ", read) : "more follows after the end", "."));
}

}  // namespace tangram::http
