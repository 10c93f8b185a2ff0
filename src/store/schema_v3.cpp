// The third schema: the address of a service, the steps of a move, and jobs by name. Requests that
// said whether their job is movable say it in the words of today.
#include <array>

#include "base/text.hpp"
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
UPDATE requests SET request = json_set(json_remove(request, '$.movable'), '$.move', json_object(
    'way', CASE WHEN json_extract(request, '$.movable') = 1
                 AND json_extract(request, '$.kind') = 'service' THEN 'replica' ELSE 'never' END))
  WHERE CASE WHEN json_valid(request) THEN json_extract(request, '$.movable') IS NOT NULL END;
-- A service of before had no endpoint, and its process goes on with the port it has.
UPDATE requests SET request = json_set(request, '$.endpoint', json_object('mode', 'none'))
  WHERE CASE WHEN json_valid(request) THEN json_extract(request, '$.kind') = 'service' END;
)sql";

const Schema& current_schema() {
  static const std::string whole = cat(kSchemaVersion1, kToVersion2, kToVersion3);
  static const std::array<Migration, 2> migrations = {Migration{.from = 1, .sql = kToVersion2},
                                                      Migration{.from = 2, .sql = kToVersion3}};
  static const Schema schema{.version = 3, .sql = whole.c_str(), .migrations = migrations};
  return schema;
}

}  // namespace tangram::store
