// ArraySpec: which tasks a job array has, as in "1-100%8", "1,3,5-9" or "0-20:5". Part of a
// JobRequest ("array"). And ArrayView: an array as reported to users.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/value.hpp>

#include "base/error.hpp"

namespace tangram::api {

inline constexpr std::uint32_t kMaxArrayIndex = 1'000'000;
inline constexpr std::size_t kMaxArrayTasks = 10'000;

// Task indices, ascending, each once.
using ArrayIndices = std::vector<std::uint32_t>;

struct ArraySpec {
  ArrayIndices indices;           // at least one
  std::uint32_t most_active = 0;  // tasks that may be queued or running at a time; 0: any number

  friend bool operator==(const ArraySpec&, const ArraySpec&) = default;
};

// Parses a list of indices, ranges and ranges with a step: "1,3,5-9,20-40:5".
[[nodiscard]] Result<ArrayIndices> parse_indices(std::string_view text);
[[nodiscard]] std::string indices_text(const ArrayIndices& indices);  // the shortest such list

// The same with "%N" at the end.
[[nodiscard]] Result<ArraySpec> parse_array(std::string_view text);
[[nodiscard]] std::string array_text(const ArraySpec& spec);

struct ArrayView {
  std::uint64_t id = 0;
  std::string user;
  std::uint32_t uid = 0;
  std::string name;
  std::string profile;
  ArraySpec spec;           // JSON: "array"
  std::uint64_t first = 0;  // ID of the first task's job; the others follow in order of index
  std::map<std::string, std::uint64_t> states;  // number of tasks by state; without deleted ones
  std::optional<std::uint64_t> changed;         // tasks that the request changed
};

[[nodiscard]] boost::json::value to_json(const ArrayView& array);
[[nodiscard]] Result<ArrayView> read_array_view(const boost::json::value& document);

// The job of the task with this index; nullopt if the array has none.
[[nodiscard]] std::optional<std::uint64_t> job_of_task(const ArrayView& array, std::uint32_t index);

}  // namespace tangram::api
