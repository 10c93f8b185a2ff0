// Reservations: the place that a waiting job will start at, at the latest, whatever others do
// (queues with backfill). They are made from enforced time limits only: a holder has left at
// Job::ends. Nothing else may use the place unless it is gone by then.
#pragma once

#include <optional>

#include "core/node.hpp"
#include "core/policy.hpp"

namespace tangram::core {

// What a body may need beyond a job's time limit and grace: from its placement to the start of its
// process, and from its kill to the report of its exit.
inline constexpr Duration kStartMargin = std::chrono::seconds(60);
inline constexpr Duration kEndMargin = std::chrono::seconds(5);

// By when a job with a time limit has left its place if its process starts by `start`; nullopt
// without a limit.
[[nodiscard]] std::optional<Instant> end_of(const Job& job, Instant start);

// Whether an instance of the profile at this start would be in the way of another job's
// reservation on this GPU, if it is gone by `ends`. `own`: the job that it is for.
[[nodiscard]] bool delays_reservation(const Node& node, const Request& request, GpuId gpu,
                                      mig::Placement placement);

// Whether the job still gets the place of its reservation in time: nothing that may stay longer is
// in its way. A holder that is late does not end it.
[[nodiscard]] bool is_kept(const Node& node, const Job& job, const Reservation& reservation,
                           bool only_idle);

// The earliest time, not before now, from which the job can have the place for certain: when
// everything in its way has a time limit that is not exceeded and nothing else is allowed in.
// `only_idle`: instances are not created. nullopt: there is no such time.
[[nodiscard]] std::optional<Instant> free_from(const Node& node, const Job& job, GpuId gpu,
                                               mig::Placement placement, bool only_idle);

}  // namespace tangram::core
