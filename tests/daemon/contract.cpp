// See contract.hpp.
#include "contract.hpp"

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

// Said once for all routes, at the head of the document.
bool is_everywhere(int status) {
  static constexpr std::array<int, 6> kEverywhere{400, 404, 405, 408, 413, 431};
  return std::ranges::find(kEverywhere, status) != kEverywhere.end();
}

std::string_view take_part(std::string_view& path) {
  const std::size_t end = std::min(path.find('/', 1), path.size());
  const std::string_view part = path.substr(0, end);
  path.remove_prefix(end);
  return part;
}

bool has_form(std::string_view pattern, std::string_view path) {
  while (!pattern.empty() && !path.empty()) {
    const std::string_view wanted = take_part(pattern);
    const std::string_view found = take_part(path);
    if (wanted != found && wanted != "/{id}") return false;
  }
  return pattern.empty() && path.empty();
}

std::string wrong_type(const json::object& response, std::string_view type) {
  const json::value* content = response.if_contains("content");
  if (content == nullptr) return type.empty() ? "" : "the document has no body there";
  const std::string_view plain = type.substr(0, type.find(';'));
  if (content->as_object().contains({plain.data(), plain.size()})) return "";
  return cat("the document has no ", type, " there");
}

}  // namespace

const json::object& document() {
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
  for (const auto& [pattern, operations] : document().at("paths").as_object()) {
    if (has_form(std::string_view(pattern), path)) return std::string(pattern);
  }
  return std::nullopt;
}

const json::object* described(const std::string& method, const std::string& pattern, int status) {
  const json::object& operations = document().at("paths").at(pattern).as_object();
  const json::value* operation = operations.if_contains(lower(method == "HEAD" ? "GET" : method));
  if (operation == nullptr) return nullptr;
  const json::value* response =
      operation->at("responses").as_object().if_contains(std::to_string(status));
  return response == nullptr ? nullptr : &response->as_object();
}

std::string undocumented(const std::string& method, const std::string& target, int status,
                         std::string_view type) {
  const auto pattern = pattern_of(target);
  const json::object* response = pattern ? described(method, *pattern, status) : nullptr;
  if (response != nullptr) return type.empty() ? "" : wrong_type(*response, type);
  const bool before_the_route = !pattern && status == 401;
  if (!is_everywhere(status) && !before_the_route) {
    return cat(method, " ", pattern.value_or(target), " answers ", status,
               ", which docs/openapi.json does not have");
  }
  return type.empty() || type == kProblem ? "" : cat("a refusal is ", type);
}

}  // namespace tangram::tests
