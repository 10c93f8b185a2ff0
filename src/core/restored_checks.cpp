// See saved_checks.hpp: a node built from saved state, its jobs compared with its instances. These
// invariants hold after every step.
#include <vector>

#include "base/text.hpp"
#include "core/restraint.hpp"
#include "core/saved_checks.hpp"

namespace tangram::core {
namespace {

// Why the entry and its owner do not match; nothing if they do.
std::string wrong_owner(const Node& node, GpuId g, const Entry& e) {
  const bool promised = e.state == EntryState::kReserved || e.state == EntryState::kCreating;
  if (e.job == kNoJob) {
    const bool ownerless = e.state != EntryState::kHeld && e.state != EntryState::kReserved;
    return ownerless && !e.movable && !e.leaving ? "" : "is held by no job";
  }
  if (e.state != EntryState::kHeld && !promised) return "has a job and cannot";
  const Job& job = node.job(e.job);
  const bool main = job.main.instance == e.id && job.main.gpu == g;
  const bool replica = job.moving() && job.replica.instance == e.id && job.replica.gpu == g;
  if (main == replica) return "is not where its job is";
  const Replica& mine = main ? job.main : job.replica;
  if ((e.state == EntryState::kHeld) != (mine.run != kNoRun)) return "has no run, or one too early";
  const bool movable = main && could_move(job) && job.cooldown_until <= node.now();
  const bool back = job.move == MovePhase::kRollingBack;
  const bool leaving = main ? job.moving() && !back : back;
  return e.movable == movable && e.leaving == leaving ? "" : "has wrong flags";
}

// Why the job's slots are not its own; nothing if they are.
std::string wrong_place(const Node& node, JobSlot s) {
  const Job& job = node.job(s);
  if (job.phase == JobPhase::kHeld || job.phase == JobPhase::kQueued) {
    if (job.moving() || job.main.instance != kNoInstance) return "waits, and has a place";
    return (job.phase == JobPhase::kHeld) == (job.holds != 0) ? "" : "is held without a cause";
  }
  if (job.main.instance == kNoInstance) {
    if (!job.moving()) return "has no place";
  } else {
    const Entry* e = node.find(job.main.gpu, job.main.instance);
    if (e == nullptr || e->job != s) return "is in a place that is not its own";
    const auto profile = node.profile_on(node.gpu(job.main.gpu).model, job.profile);
    if (!profile || e->placement.profile != *profile) return "is on another profile";
    if ((job.phase == JobPhase::kPlaced) != (job.main.run == kNoRun)) return "has a wrong run";
  }
  if (!job.moving()) return job.replica == Replica{} ? "" : "has a replica and does not move";
  const Entry* e = node.find(job.replica.gpu, job.replica.instance);
  if (e == nullptr || e->job != s) return "moves to a place that is not its own";
  if (e->placement.start != job.replica_start) return "moves elsewhere";
  return (job.move == MovePhase::kCreating) == (job.replica.run == kNoRun) ? ""
                                                                           : "has a wrong replica";
}

Result<void> check_moves(const Node& node) {
  std::vector<int> into(node.gpu_count());
  for (const JobSlot s : node.jobs_by_id()) {
    const Job& job = node.job(s);
    if (job.moving()) ++into[job.replica.gpu.value()];
  }
  for (std::uint32_t g = 0; g < node.gpu_count(); ++g) {
    const bool is_target = node.gpu(GpuId(g)).incoming;
    if (into[g] != static_cast<int>(is_target)) {
      return unsound(cat("gpu ", g, is_target ? " is" : " is not",
                         " marked as the target of an incoming move, but ", into[g],
                         " jobs move there"));
    }
  }
  return {};
}

}  // namespace

Result<void> check_restored(const Node& node) {
  for (std::uint32_t g = 0; g < node.gpu_count(); ++g) {
    for (const Entry& e : node.entries(GpuId(g))) {
      const std::string wrong = wrong_owner(node, GpuId(g), e);
      if (!wrong.empty()) {
        return unsound(cat("instance ", e.id.value(), " of gpu ", g, " ", wrong));
      }
    }
  }
  for (const JobSlot s : node.jobs_by_id()) {
    const std::string wrong = wrong_place(node, s);
    if (!wrong.empty()) return unsound(cat("job ", node.job(s).id.value(), " ", wrong));
  }
  return check_moves(node);
}

}  // namespace tangram::core
