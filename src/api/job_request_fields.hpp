// Shared parts of the JSON of jobs and leases; private to api. A job request is read in two steps:
// first the values of the keys, then the check that they are consistent. Views of jobs skip the
// second step, because they were checked as requests and may lack keys.
#pragma once

#include <map>
#include <optional>
#include <string>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "api/fields.hpp"
#include "api/job.hpp"

namespace tangram::api {

inline constexpr std::uint64_t kMib = std::uint64_t{1} << 20U;
inline constexpr std::uint64_t kHour = 3'600'000;  // ms
inline constexpr std::size_t kLongestPath = 4095;
inline constexpr ListLimits kEnvironmentLimits{4096, kMib};

[[nodiscard]] JobRequest request_in(Fields& fields, FieldErrors& errors);
// Adds errors for contradictions and missing values.
void check_request(const JobRequest& request, Fields& fields);
// job_endpoint_move.cpp
[[nodiscard]] Endpoint endpoint_in(const boost::json::value& value, const std::string& path,
                                   FieldErrors& errors);
[[nodiscard]] MoveOptions move_in(const boost::json::value& value, const std::string& path,
                                  FieldErrors& errors);
[[nodiscard]] boost::json::value endpoint_json(const Endpoint& endpoint);
[[nodiscard]] boost::json::value move_json(const MoveOptions& move);
void check_endpoint_and_move(const JobRequest& request, Fields& fields);
// dependency.cpp
[[nodiscard]] DependencyList dependencies_in(Fields& outer, std::string_view key,
                                             FieldErrors& errors);
[[nodiscard]] boost::json::array dependencies_json(const DependencyList& dependencies);
// array_spec.cpp
[[nodiscard]] std::optional<ArraySpec> array_in(Fields& fields);
[[nodiscard]] JobView view_in(const boost::json::value& document, const std::string& path,
                              FieldErrors& errors);

// For every request of an instance: its size, as a profile or as memory, and its labels.
[[nodiscard]] std::optional<std::uint64_t> gpu_memory_in(Fields& fields);
[[nodiscard]] std::map<std::string, std::string> labels_in(Fields& fields);
void check_size(const std::string& profile, bool sized, const Fields& fields);
void check_labels(const std::map<std::string, std::string>& labels, const Fields& fields);
[[nodiscard]] boost::json::object texts_json(const std::map<std::string, std::string>& texts);

}  // namespace tangram::api
