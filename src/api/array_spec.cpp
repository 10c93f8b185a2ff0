// See array_spec.hpp.
#include "api/array_spec.hpp"

#include <algorithm>
#include <charconv>

#include <boost/json/object.hpp>

#include "api/fields.hpp"
#include "api/job_request_fields.hpp"
#include "base/text.hpp"

namespace tangram::api {
namespace {

namespace json = boost::json;

constexpr std::string_view kForm = "use indices and ranges, e.g. 1-100, 1,3,5-9 or 0-20:5";

std::optional<std::uint32_t> number_in(std::string_view text) {
  std::uint32_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, status] = std::from_chars(text.data(), end, number);
  if (status != std::errc{} || stop != end) return std::nullopt;
  return number;
}

// The part before `separator`, which is removed with it; all of `text` if there is none.
std::string_view take_until(std::string_view& text, char separator) {
  const std::size_t at = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return part;
}

// "7", "5-9" or "0-20:5".
Result<void> add_range(std::string_view word, ArrayIndices& to) {
  const std::string whole(word);
  const bool has_step = word.find(':') != std::string_view::npos;
  std::string_view range = take_until(word, ':');
  const auto step = has_step ? number_in(word) : std::optional<std::uint32_t>(1);
  const bool is_range = range.find('-') != std::string_view::npos;
  const auto first = number_in(take_until(range, '-'));
  const auto last = is_range ? number_in(range) : first;
  if (!first || !last || !step || (has_step && !is_range)) {
    return invalid(cat("invalid indices ", tangram::quoted(whole), ": ", kForm));
  }
  if (*step == 0) return invalid(cat(whole, ": the step must be at least 1"));
  if (*first > *last) return invalid(cat(whole, ": the first index is above the last"));
  if (*last > kMaxArrayIndex) {
    return invalid(cat("index ", *last, " is above the maximum of ", kMaxArrayIndex));
  }
  if ((*last - *first) / *step >= kMaxArrayTasks) {
    return invalid(cat(whole, ": an array has at most ", kMaxArrayTasks, " tasks"));
  }
  for (std::uint64_t i = *first; i <= *last; i += *step) {
    to.push_back(static_cast<std::uint32_t>(i));
  }
  return {};
}

}  // namespace

Result<ArrayIndices> parse_indices(std::string_view text) {
  ArrayIndices indices;
  if (text.empty()) return invalid(cat("no indices: ", kForm));
  if (text.ends_with(','))
    return invalid(cat("invalid indices ", tangram::quoted(text), ": ", kForm));
  while (!text.empty()) {
    if (auto ok = add_range(take_until(text, ','), indices); !ok) {
      return std::unexpected(ok.error());
    }
    if (indices.size() > 2 * kMaxArrayTasks) break;
  }
  std::ranges::sort(indices);
  if (const auto twice = std::ranges::adjacent_find(indices); twice != indices.end()) {
    return invalid(cat("index ", *twice, " is named twice"));
  }
  if (indices.size() <= kMaxArrayTasks) return indices;
  return invalid(cat("too many indices: an array has at most ", kMaxArrayTasks, " tasks"));
}

std::string indices_text(const ArrayIndices& indices) {
  std::string text;
  for (std::size_t i = 0; i < indices.size();) {
    std::size_t end = i + 1;  // of a range with the same step
    const std::uint32_t step = end < indices.size() ? indices[end] - indices[i] : 1;
    while (end < indices.size() && indices[end] - indices[end - 1] == step) ++end;
    const std::size_t count = end - i;
    text += cat(text.empty() ? "" : ",", indices[i]);
    if (count > 2 || (count == 2 && step == 1)) {
      text += cat('-', indices[end - 1], step == 1 ? "" : cat(':', step));
    } else {
      end = i + 1;
    }
    i = end;
  }
  return text;
}

Result<ArraySpec> parse_array(std::string_view text) {
  ArraySpec spec;
  const std::size_t percent = text.find('%');
  auto indices = parse_indices(text.substr(0, percent));
  if (!indices) return std::unexpected(indices.error());
  spec.indices = *std::move(indices);
  if (percent == std::string_view::npos) return spec;
  const auto most = number_in(text.substr(percent + 1));
  if (!most || *most == 0) {
    return invalid(cat("invalid limit ", tangram::quoted(text.substr(percent)),
                       ": use % and the number of tasks that may be active at a time, e.g. %8"));
  }
  spec.most_active = *most;
  return spec;
}

std::string array_text(const ArraySpec& spec) {
  return cat(indices_text(spec.indices), spec.most_active == 0 ? "" : cat('%', spec.most_active));
}

std::optional<ArraySpec> array_in(Fields& fields) {
  constexpr std::size_t kLongest = std::size_t{64} << 10U;
  if (!fields.has("array")) return std::nullopt;
  auto spec = parse_array(fields.text("array", kLongest));
  if (spec) return *std::move(spec);
  fields.add_error("array", spec.error().message);
  return std::nullopt;
}

json::value to_json(const ArrayView& array) {
  json::object states;
  for (const auto& [state, count] : array.states) states[state] = count;
  return json::object{{"id", array.id},
                      {"user", array.user},
                      {"uid", array.uid},
                      {"name", array.name},
                      {"profile", array.profile},
                      {"array", array_text(array.spec)},
                      {"tasks", array.spec.indices.size()},
                      {"first", array.first},
                      {"states", std::move(states)},
                      {"changed", or_null(array.changed)}};
}

Result<ArrayView> read_array_view(const json::value& document) {
  FieldErrors errors;
  Fields fields(document, "", "an array", errors);
  ArrayView array;
  fields.require("id");
  fields.require("array");
  array.id = fields.number("id", {0, kMax}).value_or(0);
  array.user = fields.text("user");
  array.uid = fields.number32("uid").value_or(0);
  array.name = fields.text("name");
  array.profile = fields.text("profile");
  array.first = fields.number("first", {0, kMax}).value_or(0);
  array.changed = fields.number("changed", {0, kMax});
  const auto spec = parse_array(fields.text("array"));
  if (!spec) errors.add("array", spec.error().message);
  if (spec) array.spec = *spec;
  fields.each_member("states",
                     [&](std::string_view state, const json::value& count, const std::string&) {
                       json::error_code bad;
                       array.states[std::string(state)] = count.to_number<std::uint64_t>(bad);
                     });
  if (errors.first()) return std::unexpected(*errors.first());
  return array;
}

std::optional<std::uint64_t> job_of_task(const ArrayView& array, std::uint32_t index) {
  const auto at = std::ranges::lower_bound(array.spec.indices, index);
  if (at == array.spec.indices.end() || *at != index) return std::nullopt;
  return array.first + static_cast<std::uint64_t>(at - array.spec.indices.begin());
}

}  // namespace tangram::api
