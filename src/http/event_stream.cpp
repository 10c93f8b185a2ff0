// See event_stream.hpp.
#include "http/event_stream.hpp"

#include <charconv>

namespace tangram::http {

bool EventStream::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    if (end == std::string_view::npos) {
      rest_ += bytes;
      return rest_.size() <= kLongestLine;
    }
    rest_ += bytes.substr(0, end);
    bytes.remove_prefix(end + 1);
    const std::string text = std::exchange(rest_, {});
    if (!line(text)) return false;
  }
  return true;
}

bool EventStream::line(std::string_view text) {
  if (text.ends_with('\r')) text.remove_suffix(1);
  if (text.empty()) return pass_on();
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
  return true;  // anything else is a comment, or what a newer daemon says besides
}

bool EventStream::pass_on() {
  const bool something = !data_.empty();
  if (something) enough_ = !take_({id_, kind_, data_});
  id_ = 0;
  kind_.clear();
  data_.clear();
  return !enough_;
}

}  // namespace tangram::http
