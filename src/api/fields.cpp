// See fields.hpp.
#include "api/fields.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "api/enum_names.hpp"
#include "base/text.hpp"

namespace tangram::api {
namespace {

namespace json = boost::json;

const json::object kNothing;

std::string_view view(const json::string& text) { return {text.data(), text.size()}; }

std::string kind_of(const json::value& value) {
  switch (value.kind()) {
    case json::kind::null:
      return "null";
    case json::kind::bool_:
      return value.get_bool() ? "true" : "false";
    case json::kind::int64:
      return std::to_string(value.get_int64());
    case json::kind::uint64:
      return std::to_string(value.get_uint64());
    case json::kind::double_:
      return "a number with a fraction";
    case json::kind::string:
      return quoted(view(value.get_string()));
    case json::kind::array:
      return "a list";
    case json::kind::object:
      return "an object";
  }
  return "";
}

std::string between(Bounds b) { return cat("a whole number from ", b.lowest, " to ", b.highest); }

// Converts a JSON number of seconds; nullopt if it is not one or out of range.
std::optional<std::chrono::milliseconds> seconds_of(const json::value& value) {
  constexpr double kMax = 1e10;
  json::error_code status;
  const auto seconds = value.to_number<double>(status);
  if (status || !std::isfinite(seconds) || seconds < 0 || seconds > kMax) return std::nullopt;
  return std::chrono::milliseconds(std::llround(seconds * 1000));
}

}  // namespace

void FieldErrors::add(std::string_view key, std::string_view message) {
  if (!first_) first_ = Error{ErrorCode::kInvalid, cat(key, key.empty() ? "" : ": ", message)};
}

Fields::Fields(const json::value& document, std::string path, std::string_view what,
               FieldErrors& errors)
    : object_(document.if_object()), path_(std::move(path)), what_(what), errors_(&errors) {
  if (object_ != nullptr) return;
  object_ = &kNothing;
  errors.add(path_, cat(what_, " must be an object, not ", kind_of(document)));
}

std::string Fields::path_of(std::string_view key) const {
  const bool is_short = key.size() <= 128;  // keys are untrusted input
  const std::string safe = is_short ? printable(key) : quoted(key);
  return path_.empty() ? safe : cat(path_, '.', safe);
}

void Fields::add_error(std::string_view key, std::string_view message) const {
  errors_->add(path_of(key), message);
}

const json::value* Fields::value(std::string_view key) {
  known_keys_.emplace_back(key);
  const json::value* found = object_->if_contains({key.data(), key.size()});
  return found == nullptr || found->is_null() ? nullptr : found;
}

bool Fields::has(std::string_view key) { return value(key) != nullptr; }

void Fields::require(std::string_view key) {
  if (!has(key)) add_error(key, "is missing");
}

std::optional<bool> Fields::flag(std::string_view key) {
  const json::value* found = value(key);
  if (found == nullptr) return std::nullopt;
  if (const bool* flag = found->if_bool()) return *flag;
  add_error(key, cat("must be true or false, not ", kind_of(*found)));
  return std::nullopt;
}

std::optional<std::uint64_t> Fields::number(std::string_view key, Bounds bounds) {
  const json::value* found = value(key);
  if (found == nullptr) return std::nullopt;
  json::error_code status;
  const auto number = found->to_number<std::uint64_t>(status);
  if (!status && number >= bounds.lowest && number <= bounds.highest) return number;
  add_error(key, cat("must be ", between(bounds), ", not ", kind_of(*found)));
  return std::nullopt;
}

std::optional<std::uint32_t> Fields::number32(std::string_view key) {
  const auto found = number(key, {0, kMost32});
  if (!found) return std::nullopt;
  return static_cast<std::uint32_t>(*found);
}

std::vector<std::uint64_t> Fields::numbers(std::string_view key) {
  std::vector<std::uint64_t> numbers;
  each(key, [&](const json::value& element, const std::string& path) {
    json::error_code status;
    numbers.push_back(element.to_number<std::uint64_t>(status));
    if (status) errors_->add(path, cat("must be a whole number, not ", kind_of(element)));
  });
  return numbers;
}

std::optional<std::int64_t> Fields::signed_number(std::string_view key) {
  const json::value* found = value(key);
  if (found == nullptr) return std::nullopt;
  json::error_code status;
  const auto number = found->to_number<std::int64_t>(status);
  if (!status) return number;
  add_error(key, cat("must be a whole number, not ", kind_of(*found)));
  return std::nullopt;
}

std::optional<double> Fields::decimal(std::string_view key) {
  const json::value* found = value(key);
  if (found == nullptr) return std::nullopt;
  json::error_code status;
  const auto number = found->to_number<double>(status);
  if (!status && std::isfinite(number)) return number;
  add_error(key, cat("must be a number, not ", kind_of(*found)));
  return std::nullopt;
}

std::optional<std::chrono::milliseconds> Fields::duration(std::string_view key,
                                                          Bounds milliseconds) {
  const json::value* found = value(key);
  if (found == nullptr) return std::nullopt;
  std::optional<std::chrono::milliseconds> duration;
  if (const json::string* text = found->if_string()) {
    const auto parsed = parse_duration(view(*text));
    if (!parsed) {
      add_error(key, parsed.error().message);
      return std::nullopt;
    }
    duration = *parsed;
  } else {
    duration = seconds_of(*found);
  }
  const auto in_range = [&](std::chrono::milliseconds d) {
    const auto count = static_cast<std::uint64_t>(d.count());
    return d.count() >= 0 && count >= milliseconds.lowest && count <= milliseconds.highest;
  };
  if (duration && in_range(*duration)) return duration;
  const auto text_of = [](std::uint64_t ms) {
    return duration_text(std::chrono::milliseconds(static_cast<std::int64_t>(ms)));
  };
  add_error(key, cat("must be a duration from ", text_of(milliseconds.lowest), " to ",
                     text_of(milliseconds.highest), ", e.g. \"90s\" or a number of seconds, not ",
                     kind_of(*found)));
  return std::nullopt;
}

std::optional<std::uint64_t> Fields::bytes(std::string_view key, Bounds bounds) {
  const json::value* found = value(key);
  if (found == nullptr) return std::nullopt;
  std::optional<std::uint64_t> bytes;
  if (const json::string* text = found->if_string()) {
    const auto parsed = parse_bytes(view(*text));
    if (!parsed) {
      add_error(key, parsed.error().message);
      return std::nullopt;
    }
    bytes = *parsed;
  } else {
    json::error_code status;
    const auto number = found->to_number<std::uint64_t>(status);
    if (!status) bytes = number;
  }
  if (bytes && *bytes >= bounds.lowest && *bytes <= bounds.highest) return bytes;
  add_error(key, cat("must be a size from ", bounds.lowest, " to ", bounds.highest,
                     " bytes, e.g. \"8GiB\" or a number of bytes, not ", kind_of(*found)));
  return std::nullopt;
}

std::optional<WallTime> Fields::wall(std::string_view key) {
  if (!has(key)) return std::nullopt;
  const auto when = parse_wall(text(key));
  if (when) return *when;
  add_error(key, when.error().message);
  return std::nullopt;
}

std::optional<std::string> Fields::text_in(const json::value& value, std::string_view key,
                                           std::size_t longest) const {
  const json::string* text = value.if_string();
  if (text == nullptr) {
    add_error(key, cat("must be a string, not ", kind_of(value)));
  } else if (view(*text).find('\0') != std::string_view::npos) {
    add_error(key, "must not contain a NUL byte");
  } else if (text->size() > longest) {
    add_error(key, cat("has ", text->size(), " bytes; at most ", longest, " are allowed"));
  } else {
    return std::string(view(*text));
  }
  return std::nullopt;
}

std::string Fields::text(std::string_view key, std::size_t longest) {
  const json::value* found = value(key);
  return found == nullptr ? "" : text_in(*found, key, longest).value_or("");
}

std::optional<std::size_t> Fields::enum_value(std::string_view key,
                                              std::span<const std::string_view> names) {
  const json::value* found = value(key);
  if (found == nullptr) return std::nullopt;
  const std::optional<std::string> text = text_in(*found, key, kLongestText);
  if (!text) return std::nullopt;
  if (const auto index = index_of_name(*text, names)) return index;
  add_error(key, unknown_value(*text, names));
  return std::nullopt;
}

std::vector<std::string> Fields::texts(std::string_view key, ListLimits limits) {
  std::vector<std::string> texts;
  const json::value* found = value(key);
  if (found == nullptr) return texts;
  const json::array* list = found->if_array();
  if (list == nullptr) {
    add_error(key, cat("must be a list of strings, not ", kind_of(*found)));
    return texts;
  }
  if (list->size() > limits.entries) {
    add_error(key, cat("has ", list->size(), " entries; at most ", limits.entries, " are allowed"));
    return texts;
  }
  std::size_t bytes = 0;
  for (const json::value& element : *list) {
    const std::string where = cat(key, '[', texts.size(), ']');
    std::optional<std::string> text = text_in(element, where, limits.bytes);
    if (!text) return texts;
    bytes += text->size() + 1;
    texts.push_back(std::move(*text));
  }
  if (bytes > limits.bytes) {
    add_error(key, cat("has ", bytes, " bytes in all; at most ", limits.bytes, " are allowed"));
  }
  return texts;
}

std::map<std::string, std::string> Fields::text_map(std::string_view key, ListLimits limits) {
  std::map<std::string, std::string> map;
  const json::value* found = value(key);
  if (found == nullptr) return map;
  const json::object* members = found->if_object();
  if (members == nullptr) {
    add_error(key, cat("must be an object of strings, not ", kind_of(*found)));
    return map;
  }
  if (members->size() > limits.entries) {
    add_error(key,
              cat("has ", members->size(), " entries; at most ", limits.entries, " are allowed"));
    return map;
  }
  std::size_t bytes = 0;
  for (const auto& member : *members) {
    const std::string name(member.key().data(), member.key().size());
    std::optional<std::string> text =
        text_in(member.value(), cat(key, '.', printable(name)), limits.bytes);
    if (!text) return map;
    bytes += name.size() + text->size() + 2;
    map.emplace(name, std::move(*text));
  }
  if (bytes > limits.bytes) {
    add_error(key, cat("has ", bytes, " bytes in all; at most ", limits.bytes, " are allowed"));
  }
  return map;
}

void Fields::each(std::string_view key,
                  const std::function<void(const json::value&, const std::string& path)>& read) {
  const json::value* found = value(key);
  if (found == nullptr) return;
  const json::array* list = found->if_array();
  if (list == nullptr) {
    add_error(key, cat("must be a list, not ", kind_of(*found)));
    return;
  }
  std::size_t index = 0;
  for (const json::value& element : *list) read(element, cat(path_of(key), '[', index++, ']'));
}

void Fields::each_member(std::string_view key,
                         const std::function<void(std::string_view name, const json::value&,
                                                  const std::string& path)>& read) {
  const json::value* found = value(key);
  if (found == nullptr) return;
  const json::object* members = found->if_object();
  if (members == nullptr) {
    add_error(key, cat("must be an object, not ", kind_of(*found)));
    return;
  }
  for (const auto& member : *members) {
    const std::string_view name(member.key().data(), member.key().size());
    read(name, member.value(), path_of(cat(key, '.', name)));
  }
}

void Fields::reject_unknown() const {
  for (const auto& member : *object_) {
    const std::string_view key(member.key().data(), member.key().size());
    if (std::ranges::find(known_keys_, key) != known_keys_.end()) continue;
    const auto near = nearest(key, known_keys_);
    add_error(key, cat("unknown key of ", what_,
                       near ? cat("; did you mean ", quoted(*near), "?")
                            : cat("; valid keys: ", join_words(known_keys_))));
    return;
  }
}

}  // namespace tangram::api
