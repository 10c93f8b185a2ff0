// Limits: rules on the number of instances of one GPU that geometry does not tell. They come from
// the media engines: there is one set of shared engines, so one +me instance per GPU; +me.all has
// every engine, so only -me instances can stand beside it; and each profile has its own maximum.
// One rule: counting only; where an instance stands is the Model's question.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "mig/model.hpp"

namespace tangram::mig {

// Whether one more instance of `profile` may stand beside `present` (profiles of all instances
// that hold their place; placements elsewhere are not looked at).
[[nodiscard]] bool within_limits(const Model& model, std::span<const ProfileIndex> present,
                                 ProfileIndex profile);

// Why not, for people; nothing if it is allowed.
[[nodiscard]] std::optional<std::string> limit_broken(const Model& model,
                                                      std::span<const ProfileIndex> present,
                                                      ProfileIndex profile);

// Whether the model has any limit that geometry alone does not enforce for this profile. Where
// not, and no limited instance is present, within_limits() is true for every free start.
[[nodiscard]] bool is_limited(const Model& model, ProfileIndex profile);

}  // namespace tangram::mig
