// Schema version 3: addresses of services, phases of moves, takers of leases, parents of tokens, an
// index of jobs by name, and the usage of deleted jobs. Requests with the old "movable" key are
// rewritten.
#include "store/schema.hpp"

namespace tangram::store {

const char* const kToVersion3 = R"sql(
ALTER TABLE jobs ADD COLUMN address TEXT NOT NULL DEFAULT '';
ALTER TABLE moves ADD COLUMN run INTEGER;
ALTER TABLE moves ADD COLUMN started INTEGER;
ALTER TABLE moves ADD COLUMN ready INTEGER;
ALTER TABLE moves ADD COLUMN switched INTEGER;
ALTER TABLE moves ADD COLUMN drained INTEGER;
ALTER TABLE moves ADD COLUMN finished INTEGER NOT NULL DEFAULT 0;
ALTER TABLE moves ADD COLUMN cut INTEGER NOT NULL DEFAULT 0;
CREATE INDEX jobs_over_of_name ON jobs (name, id) WHERE over = 1;
-- What jobs held that were removed, by day of UTC. `jobs`: how many they were; `begun`: how many of
-- them had held nothing on a day before.
CREATE TABLE used (
  day INTEGER NOT NULL, uid INTEGER NOT NULL, profile TEXT NOT NULL, user TEXT NOT NULL,
  held INTEGER NOT NULL, jobs INTEGER NOT NULL, begun INTEGER NOT NULL,
  PRIMARY KEY (day, uid, profile)) WITHOUT ROWID;
-- Jobs went without being added up before; all of them had ended before the oldest that is left.
ALTER TABLE forgotten ADD COLUMN used_since INTEGER NOT NULL DEFAULT 0;
UPDATE forgotten SET used_since = coalesce((SELECT min(ended) FROM jobs WHERE over = 1),
    (SELECT max(wall) FROM journal), 0) WHERE jobs > 0;
ALTER TABLE leases ADD COLUMN taker INTEGER NOT NULL DEFAULT 0;
ALTER TABLE leases ADD COLUMN linger INTEGER NOT NULL DEFAULT 0;
ALTER TABLE leases ADD COLUMN labels TEXT NOT NULL DEFAULT '';
UPDATE leases SET taker = (SELECT uid FROM jobs WHERE jobs.id = leases.job);
ALTER TABLE tokens ADD COLUMN parent INTEGER;
ALTER TABLE moves ADD COLUMN reason TEXT NOT NULL DEFAULT '';
-- Whether a run's port is the one its clients know: there is no endpoint before it.
ALTER TABLE runs ADD COLUMN direct INTEGER NOT NULL DEFAULT 1;
-- Whether the folder of a run is still there.
ALTER TABLE runs ADD COLUMN kept INTEGER NOT NULL DEFAULT 1;
CREATE INDEX runs_kept ON runs (job, run) WHERE kept = 1 AND over = 1;
CREATE INDEX runs_not_kept ON runs (ended) WHERE kept = 0;
UPDATE requests SET request = json_set(json_remove(request, '$.movable'), '$.move', json_object(
    'way', CASE WHEN json_extract(request, '$.movable') = 1
                 AND json_extract(request, '$.kind') = 'service' THEN 'replica' ELSE 'never' END))
  WHERE CASE WHEN json_valid(request) THEN json_extract(request, '$.movable') IS NOT NULL END;
-- A service of before had no endpoint, and its process goes on with the port it has.
UPDATE requests SET request = json_set(request, '$.endpoint', json_object('mode', 'none'))
  WHERE CASE WHEN json_valid(request) THEN json_extract(request, '$.kind') = 'service' END;
)sql";

}  // namespace tangram::store
