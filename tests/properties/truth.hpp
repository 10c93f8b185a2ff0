// Truth: the state of the hardware around the scheduler: instances on GPUs, processes in them. Kept
// apart from the scheduler's state, so that a harmful action (an instance over another, an instance
// destroyed under a live process) is detected. It changes only when an action is performed or the
// hardware changes.
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
  bool made = false;   // false: the driver has not answered yet
  bool alien = false;  // an unknown process is in it
  bool seen = false;   // foreign: reported to the scheduler

  [[nodiscard]] bool foreign() const { return id == core::kNoInstance; }
};

struct GpuTruth {
  std::shared_ptr<const mig::Model> model;
  core::Health health = core::Health::kOk;
  std::uint32_t epoch = 0;  // counts losses; earlier requests are void
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
  std::vector<Run> runs;  // requested or alive

  [[nodiscard]] GpuTruth& gpu(core::GpuId g) { return gpus[g.value()]; }
  [[nodiscard]] const GpuTruth& gpu(core::GpuId g) const { return gpus[g.value()]; }
  [[nodiscard]] Instance* find(core::GpuId g, core::InstanceId id);
  [[nodiscard]] Run* find(core::RunId run);
  [[nodiscard]] bool used(core::GpuId g, core::InstanceId id) const;
  void end(core::RunId run);
  void lose(core::GpuId g);

  // Checks an action when it is requested: it must be safe then. Create also claims its slices.
  void check_request(const core::CreateInstance& a);
  void check_request(const core::DestroyInstance& a);
  void check_request(const core::StartJob& a);

  // Whether the driver can create it now: no foreign instance came in between.
  [[nodiscard]] bool can_make(core::GpuId g, core::InstanceId id) const;
  // A slot where another program could create an instance now.
  [[nodiscard]] bool free_for_foreign(core::GpuId g, mig::Placement p) const;
};

}  // namespace tangram::properties
