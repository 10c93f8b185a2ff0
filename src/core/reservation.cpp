// See reservation.hpp.
#include "core/reservation.hpp"

#include <algorithm>
#include <array>

#include "core/restraint.hpp"
#include "mig/limits.hpp"

namespace tangram::core {
namespace {

using Profiles = std::array<mig::ProfileIndex, kMaxEntriesPerGpu + 2>;

// When what is there has left; Instant::max() if it has no limit.
Instant gone_by(const Node& node, const Entry& e) {
  if (e.job == kNoJob) return Instant::max();  // foreign or quarantined
  return node.job(e.job).ends.value_or(Instant::max());
}

// Whether the profile is within the instance limits beside what is still there after `when`.
bool within_limits_after(const Node& node, GpuId gpu, Instant when, mig::ProfileIndex profile,
                         std::optional<mig::ProfileIndex> beside) {
  Profiles present{};
  std::size_t count = 0;
  if (beside) present[count++] = *beside;
  for (const Entry& e : node.entries(gpu)) {
    if (e.occupies() && gone_by(node, e) > when) present[count++] = e.placement.profile;
  }
  return mig::within_limits(node.model(gpu), std::span(present).first(count), profile);
}

bool has_instance(const Node& node, GpuId gpu, mig::Placement placement) {
  const auto usable = [&](const Entry& e) {
    return e.placement == placement &&
           (e.state == EntryState::kIdle || e.state == EntryState::kHeld ||
            e.state == EntryState::kCreating);
  };
  return std::ranges::any_of(node.entries(gpu), usable);
}

// Whether the place has failed the job, and may be tried again only after the reserved time.
bool avoided_after(const Job& job, const Reservation& r) {
  return std::ranges::any_of(job.back_offs, [&](const BackOff& b) {
    return b.gpu == r.gpu && b.start == r.start && b.until > r.time;
  });
}

// Another job's reservation that leaves no place for this one, at any time.
bool excluded(const Node& node, const Job& job, GpuId gpu, mig::Placement placement) {
  const mig::Model& model = node.model(gpu);
  const auto excludes = [&](const Reserved& r) {
    if (r.gpu != gpu || r.job == job.id) return false;
    const std::array alone{r.placement.profile};
    const std::array mine{placement.profile};
    return model.overlap(r.placement, placement) ||
           !mig::within_limits(model, alone, placement.profile) ||
           !mig::within_limits(model, mine, r.placement.profile);
  };
  return std::ranges::any_of(node.reserved(), excludes);
}

}  // namespace

std::optional<Instant> end_of(const Job& job, Instant start) {
  if (!job.time_limit) return std::nullopt;
  return start + *job.time_limit + job.stop_grace + kEndMargin;
}

bool delays_reservation(const Node& node, const Request& request, GpuId gpu,
                        mig::Placement placement) {
  for (const Reserved& r : node.reserved()) {
    if (r.gpu != gpu || r.job == request.job || request.ends <= r.time) continue;
    if (node.model(gpu).overlap(r.placement, placement)) return true;
    if (!within_limits_after(node, gpu, r.time, r.placement.profile, placement.profile))
      return true;
  }
  return false;
}

bool is_kept(const Node& node, const Job& job, const Reservation& r, bool only_idle) {
  const Gpu& gpu = node.gpu(r.gpu);
  const auto profile = node.profile_on(gpu.model, job.profile);
  if (!gpu.takes_jobs() || !profile) return false;
  const mig::Placement placement{*profile, r.start};
  const bool must_reuse = only_idle || node.partitioning() == Partitioning::kStatic;
  if (must_reuse && !has_instance(node, r.gpu, placement)) return false;
  const auto stays = [&](const Entry& e) {
    return e.occupies() && node.model(gpu.model).overlap(e.placement, placement) &&
           gone_by(node, e) > r.time;
  };
  return std::ranges::none_of(node.entries(r.gpu), stays) &&
         within_limits_after(node, r.gpu, r.time, placement.profile, std::nullopt) &&
         !avoided_after(job, r);
}

std::optional<Instant> free_from(const Node& node, const Job& job, GpuId gpu,
                                 mig::Placement placement, bool only_idle) {
  const mig::Model& model = node.model(gpu);
  if (!node.gpu(gpu).takes_jobs() || excluded(node, job, gpu, placement)) return std::nullopt;
  const bool must_reuse = only_idle || node.partitioning() == Partitioning::kStatic;
  if (must_reuse && !has_instance(node, gpu, placement)) return std::nullopt;
  Instant from = node.now();
  std::array<Instant, kMaxEntriesPerGpu + 1> ends{};
  std::size_t count = 0;
  for (const Entry& e : node.entries(gpu)) {
    if (!e.occupies()) continue;
    Instant gone = gone_by(node, e);
    if (gone < node.now()) gone = Instant::max();  // late: nobody knows how long
    if (model.overlap(e.placement, placement)) from = std::max(from, gone);
    if (gone != Instant::max() && gone > node.now()) ends[count++] = gone;
  }
  if (const BackOff* b = backed_off(job, gpu, placement.start, node.now())) {
    from = std::max(from, b->until);
  }
  if (from == Instant::max()) return std::nullopt;
  std::ranges::sort(std::span(ends).first(count));
  // Usually at once; instance limits may need more of the holders to leave.
  if (within_limits_after(node, gpu, from, placement.profile, std::nullopt)) return from;
  for (std::size_t i = 0; i < count; ++i) {
    if (ends[i] > from &&
        within_limits_after(node, gpu, ends[i], placement.profile, std::nullopt)) {
      return ends[i];
    }
  }
  return std::nullopt;
}

}  // namespace tangram::core
