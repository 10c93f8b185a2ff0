// See openapi_check.hpp.
#include "openapi_check.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>

#include <boost/json/parse.hpp>

#include "base/text.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;

constexpr std::string_view kProblem = "application/problem+json";

// Statuses that the document describes once for all routes.
bool is_common(int status) {
  static constexpr std::array<int, 6> kCommon{400, 404, 405, 408, 413, 431};
  return std::ranges::find(kCommon, status) != kCommon.end();
}

std::string_view take_part(std::string_view& path) {
  const std::size_t end = std::min(path.find('/', 1), path.size());
  const std::string_view part = path.substr(0, end);
  path.remove_prefix(end);
  return part;
}

bool matches(std::string_view pattern, std::string_view path) {
  while (!pattern.empty() && !path.empty()) {
    const std::string_view wanted = take_part(pattern);
    const std::string_view found = take_part(path);
    if (wanted != found && wanted != "/{id}") return false;
  }
  return pattern.empty() && path.empty();
}

std::string wrong_type(const json::object& response, std::string_view type) {
  const json::value* content = response.if_contains("content");
  if (content == nullptr) return type.empty() ? "" : "the documented response has no body";
  const std::string_view plain = type.substr(0, type.find(';'));
  if (content->as_object().contains({plain.data(), plain.size()})) return "";
  return cat("content type ", type, " is not documented");
}

}  // namespace

const json::object& openapi_document() {
  static const json::object parsed = [] {
    std::ifstream file(TANGRAM_SOURCE_DIR "/docs/openapi.json");
    std::stringstream text;
    text << file.rdbuf();
    return json::parse(text.str()).as_object();
  }();
  return parsed;
}

std::string lower(std::string_view word) {
  std::string text(word);
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::optional<std::string> pattern_of(std::string_view target) {
  const std::string_view path = target.substr(0, target.find('?'));
  for (const auto& [pattern, operations] : openapi_document().at("paths").as_object()) {
    if (matches(std::string_view(pattern), path)) return std::string(pattern);
  }
  return std::nullopt;
}

const json::object* documented_response(const std::string& method, const std::string& pattern,
                                        int status) {
  const json::object& operations = openapi_document().at("paths").at(pattern).as_object();
  const json::value* operation = operations.if_contains(lower(method == "HEAD" ? "GET" : method));
  if (operation == nullptr) return nullptr;
  const json::value* response =
      operation->at("responses").as_object().if_contains(std::to_string(status));
  return response == nullptr ? nullptr : &response->as_object();
}

std::string undocumented_reason(const std::string& method, const std::string& target, int status,
                                std::string_view type) {
  const auto pattern = pattern_of(target);
  const json::object* response = pattern ? documented_response(method, *pattern, status) : nullptr;
  if (response != nullptr) return type.empty() ? "" : wrong_type(*response, type);
  const bool unauthorized_before_routing = !pattern && status == 401;
  if (!is_common(status) && !unauthorized_before_routing) {
    return cat(method, " ", pattern.value_or(target), ": status ", status,
               " is not in docs/openapi.json");
  }
  return type.empty() || type == kProblem ? "" : cat("an error has the content type ", type);
}

}  // namespace tangram::tests
