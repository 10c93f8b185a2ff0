// A job request read from JSON in two steps: the values of its keys, and whether they make sense
// together. Requests need both; a view of a job has had the second and may lack keys. Private to
// the JSON of a job.
#pragma once

#include "api/fields.hpp"
#include "api/job.hpp"

namespace tangram::api {

[[nodiscard]] JobRequest request_in(Fields& fields, Mistakes& mistakes);
// Contradictions, and what must be there.
void check_request(const JobRequest& request, Fields& fields);

}  // namespace tangram::api
