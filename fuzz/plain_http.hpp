// PlainHttp: a second parser of HTTP/1.1 messages, for fuzz targets: strictly by the grammar of
// RFC 9112, and slow. It shares no code and no library with the relay's parser, so that the two do
// not share bugs. Whatever is not clearly valid is refused.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::fuzz {

class PlainHttp {
 public:
  // The length of the message (head and body) at the start of `bytes`; nullopt if it is invalid or
  // incomplete. `to_head`: the message is the response to a HEAD request.
  static std::optional<std::size_t> end_of(std::string_view bytes, bool is_request, bool to_head) {
    PlainHttp parser(bytes);
    return parser.parse(is_request, to_head) ? std::optional(parser.at_) : std::nullopt;
  }
  // Whether `bytes` is a sequence of valid requests, of which the last may be incomplete.
  static bool are_requests(std::string_view bytes) {
    while (!bytes.empty()) {
      PlainHttp parser(bytes);
      if (!parser.parse(true, false)) return parser.is_incomplete_;
      bytes.remove_prefix(parser.at_);
    }
    return true;
  }

 private:
  explicit PlainHttp(std::string_view bytes) : bytes_(bytes) {}

  bool parse(bool is_request, bool to_head) {
    const auto first = line();
    if (!first || !(is_request ? is_request_line(*first) : is_status_line(*first))) return false;
    if (!fields()) return false;
    const bool is_bodiless =
        !is_request && (to_head || status_ < 200 || status_ == 204 || status_ == 304);
    if (lengths_.size() + encodings_.size() > 1) return false;
    if (is_bodiless) return true;
    if (!encodings_.empty()) return lower(encodings_[0]) == "chunked" && chunks();
    if (lengths_.empty()) return is_request;  // such a response ends with the connection
    const auto length = number(lengths_[0], 10);
    return length && skip(*length);
  }

  // The next line, without its CRLF.
  std::optional<std::string_view> line() {
    const std::size_t end = bytes_.find("\r\n", at_);
    is_incomplete_ = end == std::string_view::npos;
    if (is_incomplete_) return std::nullopt;
    const std::string_view text = bytes_.substr(at_, end - at_);
    at_ = end + 2;
    const bool is_text = std::ranges::all_of(text, [](char c) {
      const auto byte = static_cast<unsigned char>(c);
      return (byte >= 32 && byte != 127) || c == '\t';
    });
    return is_text ? std::optional(text) : std::nullopt;
  }

  static bool is_token(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) {
      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
             std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
    });
  }
  static bool is_version(std::string_view text) { return text == "HTTP/1.1" || text == "HTTP/1.0"; }
  static bool is_request_line(std::string_view text) {
    const std::size_t method = text.find(' ');
    const std::size_t target = text.rfind(' ');
    if (method == std::string_view::npos || target <= method + 1) return false;
    const std::string_view middle = text.substr(method + 1, target - method - 1);
    return is_token(text.substr(0, method)) &&
           middle.find_first_of(" \t") == std::string_view::npos &&
           is_version(text.substr(target + 1));
  }
  bool is_status_line(std::string_view text) {
    if (text.size() < 13 || !is_version(text.substr(0, 8)) || text[8] != ' ' || text[12] != ' ')
      return false;
    const auto status = number(text.substr(9, 3), 10);
    status_ = static_cast<int>(status.value_or(0));
    return status && status_ >= 100;
  }

  bool fields() {
    while (true) {
      const auto text = line();
      if (!text) return false;
      if (text->empty()) return true;
      const std::size_t colon = text->find(':');
      if (colon == std::string_view::npos || !is_token(text->substr(0, colon))) return false;
      std::string_view value = text->substr(colon + 1);
      while (!value.empty() && (value.front() == ' ' || value.front() == '\t'))
        value.remove_prefix(1);
      while (!value.empty() && (value.back() == ' ' || value.back() == '\t'))
        value.remove_suffix(1);
      const std::string name = lower(text->substr(0, colon));
      if (name == "content-length") lengths_.push_back(value);
      if (name == "transfer-encoding") encodings_.push_back(value);
    }
  }

  bool chunks() {
    while (true) {
      const auto text = line();
      if (!text) return false;
      const std::size_t end = std::min(text->find_first_of("; \t"), text->size());
      const auto size = number(text->substr(0, end), 16);
      if (!size) return false;
      if (*size == 0) break;
      if (!skip(*size) || !skip(2)) return false;
      if (bytes_.substr(at_ - 2, 2) != "\r\n") return false;
    }
    return fields();  // the trailer
  }

  bool skip(std::uint64_t count) {
    is_incomplete_ = bytes_.size() - at_ < count;
    if (!is_incomplete_) at_ += static_cast<std::size_t>(count);
    return !is_incomplete_;
  }

  static std::optional<std::uint64_t> number(std::string_view text, unsigned base) {
    std::uint64_t value = 0;
    if (text.empty()) return std::nullopt;
    for (const char c : text) {
      const char small = lower({&c, 1})[0];
      const bool is_digit = small >= '0' && small <= '9';
      const bool is_letter = base == 16 && small >= 'a' && small <= 'f';
      if (!is_digit && !is_letter) return std::nullopt;
      const auto digit = static_cast<std::uint64_t>(is_digit ? small - '0' : small - 'a' + 10);
      if (value > (UINT64_MAX - digit) / base) return std::nullopt;
      value = value * base + digit;
    }
    return value;
  }
  static std::string lower(std::string_view text) {
    std::string out(text);
    for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return out;
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
  bool is_incomplete_ = false;  // more bytes may make the message valid
  int status_ = 0;
  std::vector<std::string_view> lengths_;
  std::vector<std::string_view> encodings_;
};

}  // namespace tangram::fuzz
