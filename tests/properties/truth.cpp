// See truth.hpp.
#include "truth.hpp"

#include <algorithm>

#include "mig/limits.hpp"

namespace tangram::properties {
namespace {

bool overlap(const mig::Model& model, mig::Placement a, mig::Placement b) {
  return (model.range(a) & model.range(b)) != 0;
}

bool limits_admit(const GpuTruth& gpu, mig::Placement p, auto counted) {
  std::vector<mig::ProfileIndex> present;
  for (const Instance& i : gpu.instances) {
    if (counted(i)) present.push_back(i.placement.profile);
  }
  return mig::within_limits(*gpu.model, present, p.profile);
}

}  // namespace

Instance* Truth::find(core::GpuId g, core::InstanceId id) {
  for (Instance& i : gpu(g).instances) {
    if (!i.foreign() && i.id == id) return &i;
  }
  return nullptr;
}

Run* Truth::find(core::RunId run) {
  const auto at = std::ranges::find(runs, run, &Run::run);
  return at == runs.end() ? nullptr : &*at;
}

bool Truth::used(core::GpuId g, core::InstanceId id) const {
  return std::ranges::any_of(runs, [&](const Run& r) { return r.gpu == g && r.instance == id; });
}

void Truth::end(core::RunId run) {
  std::erase_if(runs, [&](const Run& r) { return r.run == run; });
}

void Truth::lose(core::GpuId g) {
  gpu(g).health = core::Health::kLost;
  ++gpu(g).epoch;
  gpu(g).instances.clear();
  std::erase_if(runs, [&](const Run& r) { return r.gpu == g; });
}

void Truth::check_request(const core::CreateInstance& a) {
  GpuTruth& it = gpu(a.gpu);
  require(it.health == core::Health::kOk, "create on a GPU that is not ok");
  const auto& starts = it.model->profile(a.placement.profile).starts;
  require(std::ranges::find(starts, int{a.placement.start}) != starts.end(), "illegal start");
  for (const Instance& i : it.instances) {
    if (i.foreign() && !i.seen) continue;
    require(!overlap(*it.model, i.placement, a.placement), "create over an existing instance");
  }
  require(limits_admit(it, a.placement, [](const Instance& i) { return !i.foreign() || i.seen; }),
          "create beyond the instance limits");
  it.instances.push_back({.id = a.instance, .placement = a.placement});
}

void Truth::check_request(const core::DestroyInstance& a) {
  require(gpu(a.gpu).health != core::Health::kLost, "destroy on a lost GPU");
  const Instance* it = find(a.gpu, a.instance);
  require(it != nullptr && it->made, "destroy of an instance that does not exist");
  require(!used(a.gpu, a.instance), "destroy of an instance in use");
}

void Truth::check_request(const core::StartJob& a) {
  require(gpu(a.gpu).health != core::Health::kLost, "start on a lost GPU");
  const Instance* it = find(a.gpu, a.instance);
  require(it != nullptr && it->made, "start in an instance that does not exist");
  require(!used(a.gpu, a.instance), "start in an instance in use");
  runs.push_back({a.job, a.run, a.gpu, a.instance});
}

bool Truth::can_make(core::GpuId g, core::InstanceId id) const {
  const GpuTruth& it = gpu(g);
  const auto mine = std::ranges::find(it.instances, id, &Instance::id);
  if (it.health != core::Health::kOk || mine == it.instances.end()) return false;
  for (const Instance& i : it.instances) {
    if (i.foreign() && overlap(*it.model, i.placement, mine->placement)) return false;
  }
  return limits_admit(it, mine->placement, [](const Instance& i) { return i.made; });
}

bool Truth::free_for_foreign(core::GpuId g, mig::Placement p) const {
  const GpuTruth& it = gpu(g);
  if (it.health != core::Health::kOk) return false;
  for (const Instance& i : it.instances) {
    if (i.made && overlap(*it.model, i.placement, p)) return false;
  }
  return limits_admit(it, p, [](const Instance& i) { return i.made; });
}

}  // namespace tangram::properties
