// A job request read from JSON in two steps: the values of its keys, and whether they make sense
// together. Requests need both; a view of a job has had the second and may lack keys. Private to
// the JSON of jobs and of what is asked for like them.
#pragma once

#include <map>
#include <optional>
#include <string>

#include <boost/json/object.hpp>

#include "api/fields.hpp"
#include "api/job.hpp"

namespace tangram::api {

[[nodiscard]] JobRequest request_in(Fields& fields, Mistakes& mistakes);
// Contradictions, and what must be there.
void check_request(const JobRequest& request, Fields& fields);
// How clients reach it and how it moves (job_moving.cpp).
[[nodiscard]] Endpoint endpoint_in(const boost::json::value& value, const std::string& path,
                                   Mistakes& mistakes);
[[nodiscard]] MoveOptions move_in(const boost::json::value& value, const std::string& path,
                                  Mistakes& mistakes);
[[nodiscard]] boost::json::value endpoint_json(const Endpoint& endpoint);
[[nodiscard]] boost::json::value move_json(const MoveOptions& move);
void check_moving(const JobRequest& request, Fields& fields);
[[nodiscard]] JobView view_in(const boost::json::value& document, const std::string& path,
                              Mistakes& mistakes);

// Of everything that asks for an instance: its size by name or by memory, and its labels.
[[nodiscard]] std::optional<std::uint64_t> gpu_memory_in(Fields& fields);
[[nodiscard]] std::map<std::string, std::string> labels_in(Fields& fields);
void check_size(const std::string& profile, bool sized, const Fields& fields);
void check_labels(const std::map<std::string, std::string>& labels, const Fields& fields);
[[nodiscard]] boost::json::object texts_json(const std::map<std::string, std::string>& texts);

}  // namespace tangram::api
