// See saved_checks.hpp: saved state, before anything is built from it.
#include "core/saved_checks.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "base/text.hpp"
#include "mig/limits.hpp"

namespace tangram::core {
namespace {

constexpr std::size_t kMaxModels = 0xFE;

// The numbers that saved state may use.
struct Bounds {
  std::size_t gpus = 0;
  std::uint32_t next_instance = 0;
  std::uint32_t next_run = 0;
};

bool legal(const mig::Model& model, mig::Placement p) {
  if (p.profile.value() >= model.profiles().size()) return false;
  const auto& starts = model.profile(p.profile).starts;
  return std::ranges::find(starts, int{p.start}) != starts.end();
}

// As Entry::occupies() and Entry::physical().
bool occupies(const SavedEntry& e) {
  if (e.state == EntryState::kReserved || e.state == EntryState::kCreating)
    return e.job.has_value();
  return e.state != EntryState::kIdle && e.state != EntryState::kDestroying;
}

// Why the entries of a GPU cannot stand together; nothing if they can.
std::string wrong_entries(const SavedGpu& gpu) {
  unsigned occupied = 0;
  unsigned physical = 0;
  std::vector<mig::ProfileIndex> held;
  for (const SavedEntry& e : gpu.entries) {
    if (e.state > EntryState::kForeign) return "an instance in no known state";
    if (!legal(*gpu.model, e.placement)) return "an instance where none can be";
    if (e.movable && e.state != EntryState::kHeld) return "a movable instance that no job holds";
    const unsigned range = gpu.model->range(e.placement);
    const bool takes = occupies(e);
    const bool is_physical = e.state != EntryState::kReserved;
    if ((takes && (occupied & range) != 0) || (is_physical && (physical & range) != 0)) {
      return "instances that overlap";
    }
    if (takes) occupied |= range;
    if (is_physical) physical |= range;
    if (!takes || e.state == EntryState::kForeign) continue;
    if (!mig::within_limits(*gpu.model, held, e.placement.profile)) return "too many instances";
    held.push_back(e.placement.profile);
  }
  return {};
}

std::string wrong_layout(const SavedGpu& gpu, Partitioning partitioning) {
  if (partitioning == Partitioning::kDynamic && !gpu.layout.empty()) return "a layout";
  unsigned taken = 0;
  for (const mig::Placement& p : gpu.layout) {
    if (!legal(*gpu.model, p) || (taken & gpu.model->range(p)) != 0) return "an impossible layout";
    taken |= gpu.model->range(p);
  }
  return {};
}

Result<void> check_gpu(const SavedGpu& gpu, std::size_t number, Partitioning partitioning) {
  const auto has = [&](const std::string& what) {
    return unsound(cat("gpu ", number, " has ", what));
  };
  if (gpu.id.value() != number) return has(cat("the number ", gpu.id.value()));
  if (gpu.model == nullptr) return has("no model");
  if (gpu.health > Health::kLost) return has("no known health");
  if (gpu.entries.size() > kMaxEntriesPerGpu) return has("more instances than fit");
  if (gpu.health == Health::kLost && !gpu.entries.empty()) return has("instances, and is lost");
  if (gpu.draining && !gpu.cordoned) return has("a drain without a cordon");
  if (const std::string what = wrong_layout(gpu, partitioning); !what.empty()) return has(what);
  if (const std::string what = wrong_entries(gpu); !what.empty()) return has(what);
  return {};
}

bool known_words(const Job& job) {
  return job.kind <= JobKind::kLease && job.phase <= JobPhase::kStopping &&
         job.restart <= Restart::kOnNodeFault && job.move_kind <= MoveKind::kRequested &&
         job.move <= MovePhase::kRollingBack && job.holds <= kAllHolds;
}

bool within(const Replica& replica, const Bounds& bounds) {
  return replica.gpu.value() < bounds.gpus && replica.instance.value() < bounds.next_instance &&
         replica.run.value() < bounds.next_run;
}

Result<void> check_job(const Job& job, const Bounds& bounds) {
  const auto has = [&](std::string_view what) {
    return unsound(cat("job ", job.id.value(), " has ", what));
  };
  if (!known_words(job)) return has("a state that no job can have");
  if (job.time_limit.value_or(Duration{}) < Duration{} || job.stop_grace < Duration{}) {
    return has("a negative time limit");
  }
  if (!within(job.main, bounds) || !within(job.replica, bounds)) return has("an impossible place");
  if (job.reservation) {
    if (job.phase != JobPhase::kQueued) return has("a reservation and does not wait");
    if (job.reservation->gpu.value() >= bounds.gpus) return has("a reservation nowhere");
  }
  for (const BackOff& b : job.back_offs) {
    if (b.gpu.value() >= bounds.gpus) return has("a failed place on a GPU that is not there");
  }
  return {};
}

// Each number once; sorts them.
template <class Number>
bool all_differ(std::vector<Number>& numbers) {
  std::ranges::sort(numbers);
  return std::ranges::adjacent_find(numbers) == numbers.end();
}

Result<void> check_numbers(const Saved& saved) {
  std::vector<JobId> ids;
  std::vector<std::uint64_t> orders;
  std::vector<RunId> runs;
  std::vector<InstanceId> instances;
  for (const SavedJob& each : saved.jobs) {
    ids.push_back(each.job.id);
    orders.push_back(each.job.order);
    for (const Replica* r : {&each.job.main, &each.job.replica}) {
      if (r->run != kNoRun) runs.push_back(r->run);
    }
  }
  for (const SavedGpu& gpu : saved.gpus) {
    for (const SavedEntry& e : gpu.entries) instances.push_back(e.id);
  }
  if (!all_differ(ids)) return unsound("duplicate job");
  if (!all_differ(orders)) return unsound("two jobs were submitted as the same");
  if (!all_differ(runs)) return unsound("duplicate run");
  if (!all_differ(instances)) return unsound("duplicate instance");
  if (!orders.empty() && orders.back() >= saved.rest.next_order) {
    return unsound("a job of the future");
  }
  if (instances.empty()) return {};
  if (instances.front() == kNoInstance || instances.back().value() >= saved.rest.next_instance) {
    return unsound("an instance has an impossible number");
  }
  return {};
}

Result<void> check_rest(const SavedRest& rest, const Bounds& bounds) {
  const auto there = [&](GpuId g) { return g.value() < bounds.gpus; };
  const auto timer_ok = [&](const Timer& t) {
    const bool of_gpu = t.kind == TimerKind::kPlan || t.kind == TimerKind::kQuarantine ||
                        t.kind == TimerKind::kLayout;
    return t.kind <= TimerKind::kWindow && (!of_gpu || there(t.gpu));
  };
  const auto quarantine_ok = [&](const SavedQuarantine& q) {
    return there(q.gpu) && q.failures >= 0;
  };
  if (rest.partitioning > Partitioning::kStatic) return unsound("an unknown partitioning");
  if (!std::ranges::all_of(rest.to_plan, there) || !std::ranges::all_of(rest.restrained, there)) {
    return unsound("a GPU that is not there awaits planning");
  }
  if (!std::ranges::all_of(rest.timers, timer_ok)) return unsound("an impossible timer");
  if (!std::ranges::all_of(rest.quarantines, quarantine_ok)) return unsound("a quarantine nowhere");
  if (rest.recent.size() > Node::kRecent) return unsound("too many recent requests");
  if (rest.next_instance == 0 || rest.next_run == 0) return unsound("numbers that begin at 0");
  return {};
}

// The slices that users hold are those that count for their jobs.
Result<void> check_usage(const Saved& saved) {
  std::map<std::uint32_t, std::uint64_t> held;
  for (const SavedJob& each : saved.jobs) {
    if (each.job.counted_slices != 0) held[each.job.user] += each.job.counted_slices;
  }
  std::optional<std::uint32_t> last;
  for (const UserUsage& each : saved.rest.usage) {
    if (last && *last >= each.user) return unsound("the usage of a user is given twice");
    last = each.user;
    const auto mine = held.find(each.user);
    if (each.slices != (mine == held.end() ? 0 : mine->second)) {
      return unsound(cat("user ", each.user, " uses other slices than their jobs"));
    }
    if (each.since > saved.rest.now) return unsound("usage of the future");
    if (mine != held.end()) held.erase(mine);
  }
  return held.empty() ? Result<void>() : unsound("a user has no usage, and jobs that count");
}

std::size_t different_models(const Saved& saved) {
  std::vector<const mig::Model*> models;
  for (const SavedGpu& gpu : saved.gpus) {
    if (std::ranges::find(models, gpu.model.get()) == models.end()) {
      models.push_back(gpu.model.get());
    }
  }
  return models.size();
}

}  // namespace

std::unexpected<Error> unsound(const std::string& what) {
  return invalid(cat("the saved state of the scheduler cannot be right: ", what, "."));
}

Result<void> check_saved(const Saved& saved) {
  const Bounds bounds{saved.gpus.size(), saved.rest.next_instance, saved.rest.next_run};
  if (const auto ok = check_rest(saved.rest, bounds); !ok) return ok;
  for (std::size_t i = 0; i < saved.gpus.size(); ++i) {
    if (const auto ok = check_gpu(saved.gpus[i], i, saved.rest.partitioning); !ok) return ok;
  }
  if (const auto ok = check_usage(saved); !ok) return ok;
  if (different_models(saved) > kMaxModels) return unsound("too many GPU models");
  for (const SavedJob& each : saved.jobs) {
    if (const auto ok = check_job(each.job, bounds); !ok) return ok;
  }
  return check_numbers(saved);
}

}  // namespace tangram::core
