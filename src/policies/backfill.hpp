// The queue policy `backfill`: its order, and the reservation of a head.
#pragma once

#include <optional>

#include "core/node.hpp"
#include "core/policy.hpp"

namespace tangram::policies {

[[nodiscard]] bool backfill_before(const core::Waiting& a, const core::Waiting& b);

// When and where the job can start at the latest, on GPUs of these models, by the time limits of
// what is in its way (core/reservation.hpp). nullopt: some of it has none, everywhere.
[[nodiscard]] std::optional<core::Reservation> earliest_place(const core::Node& node,
                                                              const core::Job& job,
                                                              const core::ModelSet& models,
                                                              bool only_idle);

}  // namespace tangram::policies
