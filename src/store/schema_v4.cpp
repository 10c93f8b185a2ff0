// Schema version 4: a column for the labels of jobs, so that jobs can be filtered by label without
// reading every request.
#include "store/schema.hpp"

namespace tangram::store {

const char* const kToVersion4 = R"sql(
ALTER TABLE jobs ADD COLUMN labels TEXT NOT NULL DEFAULT '';
UPDATE jobs SET labels = coalesce((SELECT CASE WHEN json_valid(request)
    THEN json_extract(request, '$.labels') END FROM requests WHERE requests.job = jobs.id), '');
-- Those of leases are their jobs'.
ALTER TABLE leases DROP COLUMN labels;
)sql";

}  // namespace tangram::store
