// `backfill`: by priority, which grows with the time that a job waits; of equal priority the job of
// the user who has used least lately (fair share), then the earlier one. The first job for each GPU
// model gets a reservation; later jobs pass where they cannot delay one.
#include "policies/backfill.hpp"

#include <tuple>

#include "core/reservation.hpp"

namespace tangram::policies {

bool backfill_before(const core::Waiting& a, const core::Waiting& b) {
  return std::tuple(-a.level, a.usage, a.order) < std::tuple(-b.level, b.usage, b.order);
}

// The earliest time; then the lowest GPU and the highest start.
std::optional<core::Reservation> earliest_place(const core::Node& node, const core::Job& job,
                                                const core::ModelSet& models, bool only_idle) {
  std::optional<core::Reservation> best;
  for (std::uint32_t g = 0; g < node.gpu_count(); ++g) {
    const core::GpuId gpu(g);
    const auto profile = node.profile_on(node.gpu(gpu).model, job.profile);
    if (!profile || !models.contains(node.gpu(gpu).model)) continue;
    for (const int start : node.model(gpu).profile(*profile).starts) {
      const mig::Placement place{*profile, static_cast<std::uint8_t>(start)};
      const auto from = core::free_from(node, job, gpu, place, only_idle);
      if (!from) continue;
      const core::Reservation found{gpu, place.start, *from};
      const auto key = [](const core::Reservation& r) {
        return std::tuple(r.time, r.gpu, -int{r.start});
      };
      if (!best || key(found) < key(*best)) best = found;
    }
  }
  return best;
}

}  // namespace tangram::policies
