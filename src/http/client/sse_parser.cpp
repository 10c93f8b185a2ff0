// See sse_parser.hpp.
#include "http/client/sse_parser.hpp"

#include <charconv>

namespace tangram::http {

bool SseParser::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    if (end == std::string_view::npos) {
      partial_line_ += bytes;
      return partial_line_.size() <= kMaxLine;
    }
    partial_line_ += bytes.substr(0, end);
    bytes.remove_prefix(end + 1);
    const std::string text = std::exchange(partial_line_, {});
    if (!parse_line(text)) return false;
  }
  return true;
}

bool SseParser::parse_line(std::string_view text) {
  if (text.ends_with('\r')) text.remove_suffix(1);
  if (text.empty()) return dispatch();
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::string_view field = text.substr(0, colon);
  std::string_view value = text.substr(std::min(colon + 1, text.size()));
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "id") {
    std::from_chars(value.data(), value.data() + value.size(), id_);
  } else if (field == "event") {
    kind_ = value;
  } else if (field == "data") {
    if (!data_.empty()) data_ += '\n';
    data_ += value;
  }
  return true;  // ignores comments and unknown fields
}

bool SseParser::dispatch() {
  if (!data_.empty()) is_stopped_ = !take_({id_, kind_, data_});
  id_ = 0;
  kind_.clear();
  data_.clear();
  return !is_stopped_;
}

}  // namespace tangram::http
