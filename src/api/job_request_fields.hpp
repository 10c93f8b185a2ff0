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
[[nodiscard]] JobView view_in(const boost::json::value& document, const std::string& path,
                              Mistakes& mistakes);

// Of everything that asks for an instance: its size by name or by memory, and its labels.
[[nodiscard]] std::optional<std::uint64_t> gpu_memory_in(Fields& fields);
[[nodiscard]] std::map<std::string, std::string> labels_in(Fields& fields);
void check_size(const std::string& profile, bool sized, const Fields& fields);
void check_labels(const std::map<std::string, std::string>& labels, const Fields& fields);
[[nodiscard]] boost::json::object texts_json(const std::map<std::string, std::string>& texts);

}  // namespace tangram::api
