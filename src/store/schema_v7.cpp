// Schema version 7: jobs that wait for other jobs, and arrays. Events that hold or release a job
// name the cause. The saved state of the scheduler gains reservations, usage and the tuning of
// queues with backfill, which are empty under the other queue policies.
#include <array>

#include "base/text.hpp"
#include "store/schema.hpp"

namespace tangram::store {

const char* const kToVersion7 = R"sql(
-- What the job still waits for: a JSON object of conditions by job; empty: nothing.
ALTER TABLE jobs ADD COLUMN waits_for TEXT NOT NULL DEFAULT '';
-- Tasks of arrays are jobs; what they share is in a table of its own.
ALTER TABLE jobs ADD COLUMN array_id INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN array_index INTEGER NOT NULL DEFAULT 0;
CREATE INDEX jobs_of_array ON jobs (array_id, over, state) WHERE array_id <> 0;
CREATE TABLE arrays (
  id INTEGER PRIMARY KEY, uid INTEGER NOT NULL, user TEXT NOT NULL, name TEXT NOT NULL,
  profile TEXT NOT NULL, spec TEXT NOT NULL, tasks INTEGER NOT NULL, first INTEGER NOT NULL,
  request TEXT NOT NULL);
CREATE INDEX jobs_waiting ON jobs (id) WHERE over = 0 AND waits_for <> '';
UPDATE journal SET event = json_set(json_remove(event, '$.limit'), '$.cause',
    CASE WHEN json_extract(event, '$.limit') THEN 'limit' ELSE 'user' END)
    WHERE json_extract(event, '$.kind') IN ('job-held', 'job-released');
)sql";

const Schema& current_schema() {
  static const std::string whole = cat(kSchemaVersion1, kToVersion2, kToVersion3, kToVersion4,
                                       kToVersion5, kToVersion6, kToVersion7);
  static const std::array<Migration, 6> migrations = {
      Migration{.from = 1, .sql = kToVersion2}, Migration{.from = 2, .sql = kToVersion3},
      Migration{.from = 3, .sql = kToVersion4}, Migration{.from = 4, .sql = kToVersion5},
      Migration{.from = 5, .sql = kToVersion6}, Migration{.from = 6, .sql = kToVersion7}};
  static const Schema schema{.version = 7, .sql = whole.c_str(), .migrations = migrations};
  return schema;
}

}  // namespace tangram::store
