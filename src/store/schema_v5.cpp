// Schema version 5: how long runs held their instances, by the clock that cannot be set. NULL for
// earlier runs: their usage is that of the wall clock.
#include <array>

#include "base/text.hpp"
#include "store/schema.hpp"

namespace tangram::store {

const char* const kToVersion5 = R"sql(
ALTER TABLE runs ADD COLUMN asked_since_boot INTEGER;
ALTER TABLE runs ADD COLUMN held INTEGER;
)sql";

const Schema& current_schema() {
  static const std::string whole =
      cat(kSchemaVersion1, kToVersion2, kToVersion3, kToVersion4, kToVersion5);
  static const std::array<Migration, 4> migrations = {
      Migration{.from = 1, .sql = kToVersion2}, Migration{.from = 2, .sql = kToVersion3},
      Migration{.from = 3, .sql = kToVersion4}, Migration{.from = 4, .sql = kToVersion5}};
  static const Schema schema{.version = 5, .sql = whole.c_str(), .migrations = migrations};
  return schema;
}

}  // namespace tangram::store
