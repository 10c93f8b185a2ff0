// See control_line.hpp.
#include "api/control_line.hpp"

#include <boost/json/parse.hpp>

#include "base/text.hpp"

namespace tangram::api {

namespace json = boost::json;

Result<ControlLine> ControlLine::parse(std::string_view line) {
  json::error_code code;
  json::value document = json::parse({line.data(), line.size()}, code);
  json::object* object = code ? nullptr : document.if_object();
  if (object == nullptr) return invalid("each line must be a JSON object");
  const json::value* verb = object->if_contains("do");
  if (verb == nullptr || !verb->is_string()) return invalid("\"do\" is missing or not a string");
  return ControlLine(std::move(*object));
}

Result<std::int64_t> ControlLine::number(std::string_view key, std::int64_t lowest,
                                         std::int64_t highest) const {
  const json::value* value = fields_.if_contains(key);
  const std::int64_t* found = value == nullptr ? nullptr : value->if_int64();
  if (found != nullptr && *found >= lowest && *found <= highest) return *found;
  return invalid(cat("\"", key, "\" must be a whole number from ", lowest, " to ", highest));
}

}  // namespace tangram::api
