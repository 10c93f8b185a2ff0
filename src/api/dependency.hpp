// Dependency: a job that must end before another one may start. Part of a JobRequest ("after"), of
// views and, as text, of the store.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace tangram::api {

enum class EndCondition : std::uint8_t {
  kOk,   // it has completed
  kAny,  // it has ended, in any way
};

struct Dependency {
  std::uint64_t job = 0;  // or an array: all of its tasks
  EndCondition condition = EndCondition::kOk;

  friend bool operator==(const Dependency&, const Dependency&) = default;
};
using DependencyList = std::vector<Dependency>;

inline constexpr std::size_t kMaxDependencies = 100;  // of one job

[[nodiscard]] std::string_view name_of(EndCondition condition);  // "ok", "any"

// Parses a list as typed: "12,13:any,14:ok".
[[nodiscard]] Result<DependencyList> parse_dependencies(std::string_view text);
// The opposite: "12,13:any".
[[nodiscard]] std::string dependencies_text(const DependencyList& dependencies);

// For the store: a JSON object, {"12":"ok","13":"any"}, or "" if there are none.
[[nodiscard]] std::string stored_dependencies(const DependencyList& dependencies);
[[nodiscard]] DependencyList read_stored_dependencies(std::string_view text);

// "job 12 to complete and job 13 to end", for "waiting for"; shortened if they are many.
[[nodiscard]] std::string awaited_text(const DependencyList& dependencies);

}  // namespace tangram::api
