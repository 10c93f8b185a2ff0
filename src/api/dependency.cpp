// See dependency.hpp.
#include "api/dependency.hpp"

#include <algorithm>
#include <charconv>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "api/job_names.hpp"
#include "api/job_request_fields.hpp"
#include "base/text.hpp"

namespace tangram::api {
namespace {

namespace json = boost::json;

constexpr std::size_t kMostNamed = 4;  // in a sentence

bool names(const DependencyList& dependencies, std::uint64_t job) {
  return std::ranges::find(dependencies, job, &Dependency::job) != dependencies.end();
}

Result<std::uint64_t> parse_id(std::string_view text) {
  std::uint64_t id = 0;
  const char* end = text.data() + text.size();
  const auto [stop, status] = std::from_chars(text.data(), end, id);
  if (status == std::errc{} && stop == end && id != 0) return id;
  return invalid(cat(tangram::quoted(text), " is not a job ID"));
}

}  // namespace

std::string_view name_of(EndCondition condition) {
  return kEndConditionNames[static_cast<std::size_t>(condition)];
}

Result<DependencyList> parse_dependencies(std::string_view text) {
  DependencyList all;
  while (true) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view word = text.substr(0, comma);
    const std::size_t colon = std::min(word.find(':'), word.size());
    const auto id = parse_id(word.substr(0, colon));
    if (!id) return std::unexpected(id.error());
    Dependency each{.job = *id};
    const std::string_view condition = word.substr(std::min(colon + 1, word.size()));
    if (condition == name_of(EndCondition::kAny)) {
      each.condition = EndCondition::kAny;
    } else if (colon < word.size() && condition != name_of(EndCondition::kOk)) {
      return invalid(cat("unknown condition ", tangram::quoted(condition), " of job ", *id,
                         ": use ok or any"));
    }
    if (names(all, *id)) return invalid(cat("names job ", *id, " twice"));
    all.push_back(each);
    if (comma == text.size()) return all;
    text.remove_prefix(comma + 1);
  }
}

std::string dependencies_text(const DependencyList& dependencies) {
  std::string text;
  for (const Dependency& each : dependencies) {
    text +=
        cat(text.empty() ? "" : ",", each.job, each.condition == EndCondition::kAny ? ":any" : "");
  }
  return text;
}

std::string stored_dependencies(const DependencyList& dependencies) {
  if (dependencies.empty()) return "";
  json::object object;
  for (const Dependency& each : dependencies) {
    object[std::to_string(each.job)] = name_of(each.condition);
  }
  return json::serialize(object);
}

DependencyList read_stored_dependencies(std::string_view text) {
  DependencyList all;
  if (text.empty()) return all;
  json::error_code bad;
  const json::value parsed = json::parse({text.data(), text.size()}, bad);
  if (bad || !parsed.is_object()) return all;
  for (const auto& [key, value] : parsed.get_object()) {
    const auto id = parse_id(key);
    if (!id || !value.is_string()) continue;
    const bool is_any = value.get_string() == name_of(EndCondition::kAny);
    all.push_back({.job = *id, .condition = is_any ? EndCondition::kAny : EndCondition::kOk});
  }
  return all;
}

std::string awaited_text(const DependencyList& dependencies) {
  if (dependencies.size() > kMostNamed) {
    return cat(dependencies.size(), " jobs to end, the first of them job ",
               dependencies.front().job);
  }
  std::vector<std::string> words;
  for (const Dependency& each : dependencies) {
    words.push_back(
        cat("job ", each.job, " to ", each.condition == EndCondition::kAny ? "end" : "complete"));
  }
  return join_words(words);
}

DependencyList dependencies_in(Fields& outer, std::string_view key, FieldErrors& errors) {
  DependencyList all;
  outer.each(key, [&](const json::value& value, const std::string& path) {
    Fields fields(value, path, "a dependency", errors);
    Dependency each;
    fields.require("job");
    each.job = fields.number("job", {1, kMax}).value_or(0);
    each.condition =
        static_cast<EndCondition>(fields.enum_value("condition", kEndConditionNames).value_or(0));
    fields.reject_unknown();
    if (names(all, each.job)) errors.add(path, cat("names job ", each.job, " twice"));
    if (all.size() == kMaxDependencies) {
      errors.add(path, cat("is one too many: at most ", kMaxDependencies, " jobs"));
    }
    all.push_back(each);
  });
  return all;
}

json::array dependencies_json(const DependencyList& dependencies) {
  json::array array;
  for (const Dependency& each : dependencies) {
    array.push_back(json::object{{"job", each.job}, {"condition", name_of(each.condition)}});
  }
  return array;
}

}  // namespace tangram::api
