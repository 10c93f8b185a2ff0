// Schema version 4: a column for the labels of jobs, so that jobs can be filtered by label without
// reading every request.
#include <array>

#include "base/text.hpp"
#include "store/schema.hpp"

namespace tangram::store {

const char* const kToVersion4 = R"sql(
ALTER TABLE jobs ADD COLUMN labels TEXT NOT NULL DEFAULT '';
UPDATE jobs SET labels = coalesce((SELECT CASE WHEN json_valid(request)
    THEN json_extract(request, '$.labels') END FROM requests WHERE requests.job = jobs.id), '');
-- Those of leases are their jobs'.
ALTER TABLE leases DROP COLUMN labels;
)sql";

const Schema& current_schema() {
  static const std::string whole = cat(kSchemaVersion1, kToVersion2, kToVersion3, kToVersion4);
  static const std::array<Migration, 3> migrations = {Migration{.from = 1, .sql = kToVersion2},
                                                      Migration{.from = 2, .sql = kToVersion3},
                                                      Migration{.from = 3, .sql = kToVersion4}};
  static const Schema schema{.version = 4, .sql = whole.c_str(), .migrations = migrations};
  return schema;
}

}  // namespace tangram::store
