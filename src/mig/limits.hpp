// Limits: rules on the number of instances of one GPU beyond geometry. They come from the media
// engines: there is one set of shared engines, so one +me instance per GPU; +me.all has every
// engine, so only -me instances can exist beside it; and each profile has its own maximum. Counting
// only; positions are the Model's.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "mig/model.hpp"

namespace tangram::mig {

// Whether one more instance of `profile` may be added to `present` (profiles of all instances that
// take slices).
[[nodiscard]] bool within_limits(const Model& model, std::span<const ProfileIndex> present,
                                 ProfileIndex profile);

// The reason as text; nothing if it is allowed.
[[nodiscard]] std::optional<std::string> limit_broken(const Model& model,
                                                      std::span<const ProfileIndex> present,
                                                      ProfileIndex profile);

// Whether the model has any limit for this profile that geometry alone does not enforce. If not,
// and no limited instance is present, within_limits() is true for every free start.
[[nodiscard]] bool is_limited(const Model& model, ProfileIndex profile);

}  // namespace tangram::mig
