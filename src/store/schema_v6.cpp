// Schema version 6: the scheduler knows the user, priority, time limit and GPU model of jobs. Of
// jobs that are stored already, the user is filled in, also in the journal, so that a replay agrees
// with the saved state; they count as jobs without a limit.
#include <array>

#include "base/text.hpp"
#include "store/schema.hpp"

namespace tangram::store {

const char* const kToVersion6 = R"sql(
UPDATE saved_jobs SET state = json_set(state, '$.user',
    (SELECT uid FROM jobs WHERE jobs.id = saved_jobs.job))
    WHERE (SELECT uid FROM jobs WHERE jobs.id = saved_jobs.job) > 0;
UPDATE snapshot_jobs SET state = json_set(state, '$.user',
    (SELECT uid FROM jobs WHERE jobs.id = snapshot_jobs.job))
    WHERE (SELECT uid FROM jobs WHERE jobs.id = snapshot_jobs.job) > 0;
UPDATE journal SET event = json_set(event, '$.user',
    (SELECT uid FROM jobs WHERE jobs.id = json_extract(event, '$.job')))
    WHERE json_extract(event, '$.kind') = 'job-submitted' AND
    (SELECT uid FROM jobs WHERE jobs.id = json_extract(event, '$.job')) > 0;
)sql";

const Schema& current_schema() {
  static const std::string whole =
      cat(kSchemaVersion1, kToVersion2, kToVersion3, kToVersion4, kToVersion5, kToVersion6);
  static const std::array<Migration, 5> migrations = {
      Migration{.from = 1, .sql = kToVersion2}, Migration{.from = 2, .sql = kToVersion3},
      Migration{.from = 3, .sql = kToVersion4}, Migration{.from = 4, .sql = kToVersion5},
      Migration{.from = 5, .sql = kToVersion6}};
  static const Schema schema{.version = 6, .sql = whole.c_str(), .migrations = migrations};
  return schema;
}

}  // namespace tangram::store
