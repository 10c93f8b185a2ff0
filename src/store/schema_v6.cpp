// Schema version 6: the scheduler knows the user, priority, time limit and GPU model of jobs. Of
// jobs that are stored already, the user is filled in, also in the journal, so that a replay agrees
// with the saved state; they count as jobs without a limit.
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

}  // namespace tangram::store
