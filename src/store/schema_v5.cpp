// Schema version 5: how long runs held their instances, by the clock that cannot be set. NULL for
// earlier runs: their usage is that of the wall clock.
#include "store/schema.hpp"

namespace tangram::store {

const char* const kToVersion5 = R"sql(
ALTER TABLE runs ADD COLUMN asked_since_boot INTEGER;
ALTER TABLE runs ADD COLUMN held INTEGER;
)sql";

}  // namespace tangram::store
