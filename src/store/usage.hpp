// What jobs held that retention removes: it is added up by day, user and profile, so that usage
// does not shrink as jobs are forgotten. Private to the store. One rule: a job is added up in the
// transaction that removes it, so it counts once, here or there.
#pragma once

#include <cstdint>

#include "store/parts.hpp"

namespace tangram::store {

// A job that is about to be removed.
void add_up(Store::Parts& parts, std::uint64_t job);
// One of the many runs of a job that lives on.
void add_up_run(Store::Parts& parts, std::uint64_t run);

// Days so long ago that nobody asks; usage begins after them.
void cut_usage(Store::Parts& parts, WallTime now);

}  // namespace tangram::store
