// See world.hpp: the invariants after every step of every scenario, independent of its transcript.
#include <algorithm>

#include "base/text.hpp"
#include "core/transcript.hpp"
#include "world.hpp"

namespace tangram::scenario {

// Records an action that needs an answer, after checking it against the hardware record.
Result<void> World::note(const core::Action& action) {
  Result<void> ok;
  if (const auto* a = std::get_if<core::WakeAt>(&action)) {
    wake_at_ = a->when;
    return ok;
  }
  if (const auto* a = std::get_if<core::CreateInstance>(&action)) ok = check_action(*a);
  if (const auto* a = std::get_if<core::DestroyInstance>(&action)) ok = check_action(*a);
  if (const auto* a = std::get_if<core::StartJob>(&action)) {
    ok = check_action(*a);
    runs_[a->run] = {a->job, a->gpu, a->instance};
  }
  const bool report = std::holds_alternative<core::JobReport>(action) ||
                      std::holds_alternative<core::MoveReport>(action) ||
                      std::holds_alternative<core::GpuReport>(action);
  if (ok && !report) open_.push_back({action, false});
  return ok;
}

Result<void> World::check_action(const core::CreateInstance& a) const {
  if (node().gpu(a.gpu).health == core::Health::kLost) return invalid("action on a lost GPU.");
  const mig::Model& model = node().model(a.gpu);
  for (const auto& [id, there] : instances_) {
    if (there.gpu != a.gpu) continue;
    if ((model.range(there.placement) & model.range(a.placement)) != 0) {
      return invalid(cat("i", a.instance.value(), " is created over i", id.value(), "."));
    }
  }
  return {};
}

Result<void> World::check_action(const core::DestroyInstance& a) const {
  if (node().gpu(a.gpu).health == core::Health::kLost) return invalid("action on a lost GPU.");
  if (!instances_.contains(a.instance)) {
    return invalid(cat("i", a.instance.value(), " is destroyed but does not exist."));
  }
  for (const auto& [id, run] : runs_) {
    if (run.instance == a.instance) {
      return invalid(cat("i", a.instance.value(), " is destroyed under r", id.value(), "."));
    }
  }
  return {};
}

Result<void> World::check_action(const core::StartJob& a) const {
  if (node().gpu(a.gpu).health == core::Health::kLost) return invalid("action on a lost GPU.");
  if (!instances_.contains(a.instance)) {
    return invalid(cat("r", a.run.value(), " is started where there is no instance."));
  }
  for (const auto& [id, run] : runs_) {
    if (run.instance == a.instance) {
      return invalid(cat("r", a.run.value(), " is started beside r", id.value(), "."));
    }
  }
  return {};
}

// No two entries that occupy slices overlap, and no two instances of the driver.
Result<void> World::check_gpus() const {
  for (std::uint32_t g = 0; g < node().gpu_count(); ++g) {
    const mig::Model& model = node().model(core::GpuId(g));
    unsigned occupied = 0;
    unsigned physical = 0;
    for (const core::Entry& e : node().entries(core::GpuId(g))) {
      const unsigned range = model.range(e.placement);
      const bool clash =
          (e.occupies() && (occupied & range) != 0) || (e.physical() && (physical & range) != 0);
      if (clash) {
        return invalid("two instances overlap: " + core::gpu_line(node(), core::GpuId(g)));
      }
      if (e.occupies()) occupied |= range;
      if (e.physical()) physical |= range;
    }
  }
  return {};
}

}  // namespace tangram::scenario
