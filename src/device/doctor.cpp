// See doctor.hpp.
#include "device/doctor.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "device/activity.hpp"
#include "device/gpus.hpp"
#include "device/instances.hpp"
#include "device/library.hpp"
#include "device/prepare.hpp"
#include "device/removal.hpp"

namespace tangram::device {
namespace {

using Severity = Finding::Severity;

class Diagnosis {
 public:
  Diagnosis(const Library& library, const OwnedInstances& owned)
      : library_(library), owned_(owned) {}

  std::vector<Finding> run();

 private:
  void add(Severity severity, std::string what, std::string advice = {}) {
    findings_.push_back({severity, std::move(what), std::move(advice)});
  }
  void check_gpu(const Gpu& gpu);
  void check_mode(const Gpu& gpu);
  void check_permission(const Gpu& gpu);
  void check_instances(const Gpu& gpu);
  void check_instance(const Gpu& gpu, const Instance& instance);
  void check_processes(const Gpu& gpu);
  void check_events(const Gpu& gpu);

  const Library& library_;
  const OwnedInstances& owned_;
  std::vector<Finding> findings_;
};

std::string name_of(const Gpu& gpu) {
  return gpu.uuid.empty() ? cat("GPU ", gpu.index) : cat("GPU ", gpu.index, " (", gpu.uuid, ")");
}

std::vector<Finding> Diagnosis::run() {
  add(Severity::kOk, cat("the management library is ", quoted(library_.path()), "."));
  if (const auto version = library_.driver_version()) {
    add(Severity::kOk, cat("the driver's version is ", printable(*version), "."));
  } else {
    add(Severity::kWarning, version.error().error.message);
  }
  const auto gpus = list_gpus(library_);
  if (!gpus) {
    add(Severity::kProblem, gpus.error().error.message);
    return std::move(findings_);
  }
  for (const Gpu& gpu : *gpus) check_gpu(gpu);
  return std::move(findings_);
}

void Diagnosis::check_gpu(const Gpu& gpu) {
  if (gpu.health != Health::kOk) {
    add(Severity::kProblem,
        cat(name_of(gpu),
            gpu.health == Health::kLost ? " is lost: " : " cannot be read: ", gpu.trouble),
        "The other GPUs can be used meanwhile.");
    return;
  }
  add(Severity::kOk, cat(name_of(gpu), " is a ", printable(gpu.device_name), "."));
  check_mode(gpu);
  if (gpu.mig == MigMode::kUnsupported) return;
  if (gpu.model == nullptr) {
    add(Severity::kProblem, cat(name_of(gpu), " has no known MIG profiles: ", gpu.trouble));
  }
  for (const std::string& difference : gpu.differences) {
    add(Severity::kNote, cat(name_of(gpu), " differs from the built-in table: ", difference),
        "Tangram uses the driver's values; simulations use the built-in table.");
  }
  check_permission(gpu);
  check_instances(gpu);
  check_processes(gpu);
  check_events(gpu);
}

void Diagnosis::check_mode(const Gpu& gpu) {
  switch (gpu.mig) {
    case MigMode::kOn:
      add(Severity::kOk, cat(name_of(gpu), " has MIG on."));
      break;
    case MigMode::kPendingOff:
      add(Severity::kWarning, cat(name_of(gpu), " will have MIG off after its next reset."),
          mig_instruction(gpu));
      break;
    case MigMode::kUnknown:
    case MigMode::kUnsupported:
      add(Severity::kNote, mig_instruction(gpu));
      break;
    case MigMode::kOff:
    case MigMode::kPendingOn:
      add(Severity::kProblem, cat(name_of(gpu), " does not have MIG on."), mig_instruction(gpu));
      break;
  }
}

// Reading placements needs the same privilege as managing instances, and changes nothing.
void Diagnosis::check_permission(const Gpu& gpu) {
  const auto device = library_.device(gpu.uuid);
  if (!device || gpu.model == nullptr) return;
  unsigned count = 0;
  const auto id = static_cast<unsigned>(gpu.model->profiles().front().facts.nvml_id);
  const nvml::Return code = library_.calls().gi_placements(*device, id, nullptr, &count);
  if (code == nvml::kSuccess) {
    add(Severity::kOk, cat("this user may manage the instances of ", name_of(gpu), "."));
  } else {
    add(Severity::kProblem, failure_of(code, "manage instances", gpu.uuid).error.message);
  }
}

void Diagnosis::check_instances(const Gpu& gpu) {
  const auto instances = list_instances_with_retry(library_, gpu);
  if (!instances) {
    add(Severity::kProblem, instances.error().error.message);
    return;
  }
  for (const Instance& instance : *instances) check_instance(gpu, instance);
}

void Diagnosis::check_instance(const Gpu& gpu, const Instance& instance) {
  const bool is_ours = owned_.has(location_of(instance));
  const std::string what = cat(text_of(location_of(instance)), " on ", name_of(gpu));
  if (!instance.ci) {
    add(Severity::kWarning, cat(what, " has no compute instance: nothing can run on it."),
        is_ours ? "Destroy it." : "Finish or destroy it, or let Tangram adopt it.");
  } else if (!instance.whole) {
    add(Severity::kWarning, cat(what, " is not filled by one compute instance."),
        "Tangram gives a job a whole instance; it does not use this one.");
  } else if (!is_ours) {
    add(Severity::kNote, cat(what, " is not Tangram's."),
        "Tangram does not touch it or use its slices until it is adopted.");
  }
}

void Diagnosis::check_processes(const Gpu& gpu) {
  auto found = processes(library_, gpu.uuid);
  if (!found) {
    add(Severity::kWarning, found.error().error.message,
        "Without it, processes that keep an instance from being destroyed cannot be named.");
    return;
  }
  std::erase_if(*found, [](const Process& process) { return process.gi.has_value(); });
  if (found->empty()) return;
  add(Severity::kWarning, cat(name_of(gpu), " is held as a whole by ", names_of(*found), "."),
      "Stop them before MIG is switched, and before the first instance is created.");
}

void Diagnosis::check_events(const Gpu& gpu) {
  const auto device = library_.device(gpu.uuid);
  if (!device) return;
  unsigned long long types = 0;
  const nvml::Return code = library_.calls().supported_events(*device, &types);
  if (code == nvml::kSuccess && (types & nvml::kEventXid) != 0) return;
  add(Severity::kNote, cat(name_of(gpu), " does not report its errors (Xid) as events."),
      "Its loss is noticed only by the next call to the driver.");
}

}  // namespace

std::vector<Finding> diagnose(const std::string& library_path, const OwnedInstances& owned) {
  const auto library = Library::open(library_path);
  if (!library) return {{Severity::kProblem, library.error().message, ""}};
  return Diagnosis(**library, owned).run();
}

}  // namespace tangram::device
