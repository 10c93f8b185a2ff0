// Truth: what really is on the hardware around the scheduler: instances on GPUs, processes in
// them. It is kept apart from the scheduler's own picture, so that an action which would hurt
// (an instance over another, an instance destroyed under a live process) is seen as what it is.
// One rule: it changes only when an action is performed or something happens to the hardware,
// never because the scheduler believes so.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/action.hpp"
#include "core/node.hpp"

namespace tangram::properties {

// A property that does not hold.
struct Broken : std::runtime_error {
  using std::runtime_error::runtime_error;
};
inline void require(bool holds, const char* what) {
  if (!holds) throw Broken(what);
}

struct Instance {
  core::InstanceId id;  // kNoInstance: foreign
  mig::Placement placement;
  bool made = false;   // false: the driver was asked and has not answered
  bool alien = false;  // a process lives in it that nobody knows
  bool seen = false;   // foreign: the scheduler has been told

  [[nodiscard]] bool foreign() const { return id == core::kNoInstance; }
};

struct GpuTruth {
  std::shared_ptr<const mig::Model> model;
  core::Health health = core::Health::kOk;
  std::uint32_t epoch = 0;  // counts losses: what was asked before is void
  std::vector<Instance> instances;
};

struct Run {
  core::JobId job;
  core::RunId run;
  core::GpuId gpu;
  core::InstanceId instance;
  bool begun = false;  // its process exists
};

class Truth {
 public:
  std::vector<GpuTruth> gpus;
  std::vector<Run> runs;  // asked for or alive

  [[nodiscard]] GpuTruth& gpu(core::GpuId g) { return gpus[g.value()]; }
  [[nodiscard]] const GpuTruth& gpu(core::GpuId g) const { return gpus[g.value()]; }
  [[nodiscard]] Instance* find(core::GpuId g, core::InstanceId id);
  [[nodiscard]] Run* find(core::RunId run);
  [[nodiscard]] bool used(core::GpuId g, core::InstanceId id) const;
  void end(core::RunId run);
  void lose(core::GpuId g);

  // The moment an action is asked for: it must be safe then. Create also claims its place.
  void asked(const core::CreateInstance& a);
  void asked(const core::DestroyInstance& a);
  void asked(const core::StartJob& a);

  // Whether the driver can make it now: nothing (foreign) came in between.
  [[nodiscard]] bool can_make(core::GpuId g, core::InstanceId id) const;
  // A place where somebody else could make an instance now.
  [[nodiscard]] bool free_for_foreign(core::GpuId g, mig::Placement p) const;
};

}  // namespace tangram::properties
