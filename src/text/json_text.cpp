// See json_text.hpp.
#include "text/json_text.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>
#include <fmt/format.h>

namespace tangram::text {
namespace {

namespace json = boost::json;

constexpr std::size_t kLineBytes = 80;

void append_string(std::string& out, std::string_view text) {
  const auto is_special = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return c == '"' || c == '\\' || byte < 0x20 || byte == 0x7f;
  };
  out += '"';
  while (!text.empty()) {
    const auto special = std::ranges::find_if(text, is_special);
    const auto plain = static_cast<std::size_t>(special - text.begin());
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const char c = text.front();
    text.remove_prefix(1);
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned char>(c));
    }
  }
  out += '"';
}

// JSON has no infinity and NaN: write null.
void append_double(std::string& out, double number) {
  if (!std::isfinite(number)) {
    out += "null";
    return;
  }
  fmt::format_to(std::back_inserter(out), "{}", number);
}

void append_lines(std::string& out, const json::value& value, int indent) {
  std::string short_form;
  append_json(short_form, value);
  const bool fits = static_cast<std::size_t>(indent) + short_form.size() < kLineBytes;
  if (fits || !(value.is_object() || value.is_array())) {
    out += short_form;
    return;
  }
  const std::string inner = "\n" + std::string(static_cast<std::size_t>(indent) + 2, ' ');
  const char* separator = "";
  out += value.is_object() ? '{' : '[';
  const auto begin_element = [&] {
    out += separator;
    out += inner;
    separator = ",";
  };
  if (const json::object* object = value.if_object()) {
    for (const auto& [key, element] : *object) {
      begin_element();
      append_string(out, {key.data(), key.size()});
      out += ": ";
      append_lines(out, element, indent + 2);
    }
  } else {
    for (const json::value& element : value.get_array()) {
      begin_element();
      append_lines(out, element, indent + 2);
    }
  }
  out += '\n';
  out.append(static_cast<std::size_t>(indent), ' ');
  out += value.is_object() ? '}' : ']';
}

}  // namespace

void append_json(std::string& out, const json::value& value) {
  const char* separator = "";
  switch (value.kind()) {
    case json::kind::null:
      out += "null";
      break;
    case json::kind::bool_:
      out += value.get_bool() ? "true" : "false";
      break;
    case json::kind::int64:
      out += std::string_view(fmt::format_int(value.get_int64()).c_str());
      break;
    case json::kind::uint64:
      out += std::string_view(fmt::format_int(value.get_uint64()).c_str());
      break;
    case json::kind::double_:
      append_double(out, value.get_double());
      break;
    case json::kind::string:
      append_string(out, {value.get_string().data(), value.get_string().size()});
      break;
    case json::kind::array:
      out += '[';
      for (const json::value& element : value.get_array()) {
        out += separator;
        append_json(out, element);
        separator = ", ";
      }
      out += ']';
      break;
    case json::kind::object:
      out += '{';
      for (const auto& [key, element] : value.get_object()) {
        out += separator;
        append_string(out, {key.data(), key.size()});
        out += ": ";
        append_json(out, element);
        separator = ", ";
      }
      out += '}';
      break;
  }
}

std::string json_text(const json::value& value) {
  std::string out;
  append_lines(out, value, 0);
  return out + '\n';
}

}  // namespace tangram::text
