// See requested_move.hpp.
#include "core/requested_move.hpp"

#include <algorithm>
#include <array>
#include <chrono>

#include "base/text.hpp"
#include "core/candidates.hpp"
#include "core/restraint.hpp"

namespace tangram::core {
namespace {

std::unexpected<Error> not_now(std::string message) {
  return std::unexpected(Error{ErrorCode::kUnavailable, std::move(message)});
}

Result<void> check_job(const Job& job) {
  const std::string name = cat("job ", job.id.value());
  if (job.kind == JobKind::kLease) return invalid(name + " is a lease, and leases never move.");
  if (!job.allowed_to_move) {
    return invalid(name + " cannot be moved: pinned, or submitted without --move.");
  }
  if (job.moving()) return not_now(name + " is being moved already.");
  if (job.phase != JobPhase::kRunning || !job.main.ready || job.main.stopping) {
    return not_now(name + " is not running and ready; only then can it be moved.");
  }
  return {};
}

// The restraints that do not depend on the target.
std::vector<Restraining> what_restrains_anywhere(const Node& node, const Job& job) {
  const Restraint& restraint = node.tuning().restraint;
  std::vector<Restraining> by;
  if (node.moves_under_way() >= restraint.most_moves) by.push_back({RestraintKind::kMaxMoves});
  if (node.tuning().migration == "off") by.push_back({RestraintKind::kOff});
  const Instant opens = window_opens(restraint.window, node.now());
  if (opens != node.now()) by.push_back({RestraintKind::kWindow, opens});
  if (job.cooldown_until > node.now()) by.push_back({RestraintKind::kCooldown, job.cooldown_until});
  return by;
}

constexpr const char* kOverride = "; an administrator can override this.";

std::unexpected<Error> refusal(const Node& node, const Job& job, const Restraining& by,
                               const Slot& to) {
  switch (by.by) {
    case RestraintKind::kMaxMoves:
      return not_now(cat("limit of ", node.tuning().restraint.most_moves,
                         " concurrent moves reached (restraint.most_moves); retry later or "
                         "raise it."));
    case RestraintKind::kOff:
      return not_now(cat("moves are switched off on this node (migration = off)", kOverride));
    case RestraintKind::kWindow:
      return not_now(cat("outside the daily window for moves (window)", kOverride));
    case RestraintKind::kCooldown: {
      const auto left = std::chrono::ceil<std::chrono::seconds>(*by.until - node.now());
      return not_now(cat("job ", job.id.value(),
                         " was started or moved recently and cannot be moved for another ",
                         left.count(), " s (cooldown)", kOverride));
    }
    case RestraintKind::kProtectHead:
      break;
  }
  return not_now(cat("gpu ", to.gpu.value(), ":", int{to.start},
                     " could be used by the first waiting job (protect_head)", kOverride));
}

// `restrained`: check all restraints, as for an owner; else only those that apply to operators.
Result<void> check_restraint(const Node& node, const Job& job, bool restrained) {
  for (const Restraining& by : what_restrains_anywhere(node, job)) {
    if (restrained || by.by == RestraintKind::kMaxMoves) return refusal(node, job, by, {});
  }
  return {};
}

Result<void> check_head(const Node& node, const Job& job, const Slot& slot) {
  const Gpu& gpu = node.gpu(slot.gpu);
  const mig::Placement place{*node.profile_on(gpu.model, job.profile), slot.start};
  const mig::Occupancy after = node.model(gpu.model).with(gpu.projected, place);
  if (!takes_place_of_head(node, gpu.model, gpu.projected, after)) return {};
  return refusal(node, job, {RestraintKind::kProtectHead}, slot);
}

std::string starts_of(const mig::Profile& profile) {
  std::string text;
  for (const int start : profile.starts) text += cat(text.empty() ? "" : ", ", start);
  return text;
}

Result<Slot> find_slot(const Node& node, const Job& job, const Slot& wanted) {
  const std::string& name = node.name(job.profile);
  const std::string where = cat("gpu ", wanted.gpu.value());
  if (wanted.gpu.value() >= node.gpu_count()) return not_found(cat(where, ": not found."));
  const Gpu& gpu = node.gpu(wanted.gpu);
  if (!gpu.takes_jobs()) return not_now(where + " takes no jobs now: it is cordoned or unhealthy.");
  const auto profile = node.profile_on(gpu.model, job.profile);
  if (!profile) return invalid(cat(where, " does not have the profile ", name, "."));
  std::optional<Slot> found;
  const Request request{.profile = job.profile, .models = node.request_of(job).models};
  if (!request.models.contains(gpu.model)) {
    return invalid(cat(where, " is a ", node.model(gpu.model).name(), "; job ", job.id.value(),
                       " was submitted for a ", job.gpu_model, "."));
  }
  for_each_candidate(node, request, wanted.gpu, false, [&](const Slot& s) {
    if (s.start == wanted.start) found = s;
  });
  if (found) return *found;
  const mig::Profile& shape = node.model(gpu.model).profile(*profile);
  if (std::ranges::find(shape.starts, int{wanted.start}) == shape.starts.end()) {
    return invalid(cat(name, " cannot start at ", int{wanted.start}, " on ", where,
                       "; allowed: ", starts_of(shape), "."));
  }
  return not_now(cat(where, ":", int{wanted.start}, " is not free for ", name,
                     ": a move needs its new slices while the job still holds its old ones."));
}

}  // namespace

std::string_view name_of(RestraintKind kind) {
  static constexpr std::array<std::string_view, 5> kWords{"most_moves", "migration", "window",
                                                          "cooldown", "protect_head"};
  return kWords[static_cast<std::size_t>(kind)];
}

std::vector<Restraining> what_restrains(const Node& node, const Job& job, GpuId to,
                                        mig::Occupancy before, mig::Occupancy after) {
  std::vector<Restraining> by = what_restrains_anywhere(node, job);
  if (takes_place_of_head(node, node.gpu(to).model, before, after)) {
    by.push_back({RestraintKind::kProtectHead});
  }
  return by;
}

Result<Move> requested_move(const Node& node, const Policies& policies,
                            const MoveRequested& requested) {
  const JobSlot s = node.find_job(requested.job);
  if (s == kNoJob) return not_found(cat("job ", requested.job.value(), ": not found."));
  const Job& job = node.job(s);
  if (auto can = check_job(job); !can) return std::unexpected(can.error());
  if (auto may = check_restraint(node, job, requested.restrained); !may) {
    return std::unexpected(may.error());
  }
  std::optional<Slot> slot;
  if (!requested.anywhere) {
    const auto found = find_slot(node, job, Slot{requested.gpu, requested.start});
    if (!found) return std::unexpected(found.error());
    slot = *found;
  } else {
    slot = choose(node, *policies.placement, node.request_of(job));
    if (!slot) return not_now(cat("no other free slot for ", node.name(job.profile), "."));
  }
  if (node.gpu(slot->gpu).incoming) {
    return not_now(cat("another move into gpu ", slot->gpu.value(),
                       " is under way; retry when it has ended."));
  }
  if (requested.restrained) {
    if (auto may = check_head(node, job, *slot); !may) return std::unexpected(may.error());
  }
  return Move{job.id, job.main.gpu, *slot, MoveKind::kRequested, s};
}

}  // namespace tangram::core
