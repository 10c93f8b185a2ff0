// See prepare.hpp.
#include "device/prepare.hpp"

#include <utility>

#include "base/text.hpp"
#include "device/activity.hpp"
#include "device/gpus.hpp"

namespace tangram::device {
namespace {

// nvidia-smi takes bus ids everywhere; UUIDs only since some version.
std::string smi(const Gpu& gpu, std::string_view arguments) {
  return cat("`nvidia-smi -i ", gpu.pci_bus_id.empty() ? gpu.uuid : gpu.pci_bus_id, " ", arguments,
             "`");
}

std::string lifetime(const Gpu& gpu) {
  return gpu.resetless
             ? "This GPU needs no reset, but MIG mode is lost when the driver is unloaded or "
               "the machine reboots: enable it at every boot, or let tangramd do it "
               "(device.enable_mig)."
             : "This GPU must be reset: stop all processes on it first, also monitoring "
               "(dcgm, nvidia-persistenced). MIG mode then survives reboots.";
}

std::string reset_text(const Gpu& gpu) {
  return gpu.resetless
             ? cat("Stop all processes on the GPU, also monitoring (dcgm), then run ",
                   smi(gpu, "-mig 1"), " as root again.")
             : cat("Stop all processes on the GPU, also monitoring (dcgm, nvidia-persistenced), "
                   "then run ",
                   smi(gpu, "--gpu-reset"), " as root, or reboot.");
}

// What to do when the driver has accepted the change only as pending.
std::string pending_text(const Gpu& gpu, nvml::Return status, const std::vector<Process>& holders) {
  std::string text = cat("MIG is not on yet on ", gpu.uuid,
                         ": the change is pending (NVML: ", code_name(status), "). ");
  if (!holders.empty()) text += cat("It is in use by ", names_of(holders), ". ");
  return text + reset_text(gpu);
}

Outcome<Preparation> outcome_of(const Library& library, const Gpu& gpu, nvml::Device device,
                                nvml::Return status) {
  const Outcome<MigMode> mode = read_mig_mode(library, device, gpu.uuid);
  if (!mode) return std::unexpected(mode.error());
  Preparation preparation{.mode = *mode, .holders = {}, .next = {}};
  if (*mode == MigMode::kOn) return preparation;
  if (auto holders = processes(library, gpu.uuid)) preparation.holders = *std::move(holders);
  if (*mode == MigMode::kPendingOn) {
    preparation.next = pending_text(gpu, status, preparation.holders);
    return preparation;
  }
  Failure failure = failure_of(status, "switch MIG on", gpu.uuid);
  failure.holders = std::move(preparation.holders);
  return std::unexpected(std::move(failure));
}

}  // namespace

std::string mig_instruction(const Gpu& gpu) {
  switch (gpu.mig) {
    case MigMode::kOn:
      return "";
    case MigMode::kOff:
      return cat("MIG is off on ", gpu.uuid, ". Run `tangram node prepare` or ", smi(gpu, "-mig 1"),
                 " as root. ", lifetime(gpu));
    case MigMode::kPendingOn:
      return cat("MIG is not on yet on ", gpu.uuid, ": the change is pending. ", reset_text(gpu));
    case MigMode::kPendingOff:
      return cat("MIG is on, but will be off after the next reset of ", gpu.uuid, ". Run ",
                 smi(gpu, "-mig 1"), " as root to keep it on.");
    case MigMode::kUnknown:
      return gpu.trouble;
    case MigMode::kUnsupported:
      break;
  }
  return cat(gpu.uuid, " (", printable(gpu.device_name),
             ") does not support MIG; it cannot be used by Tangram.");
}

Outcome<Preparation> prepare(const Library& library, const Gpu& gpu) {
  const Outcome<nvml::Device> device = library.device(gpu.uuid);
  if (!device) return std::unexpected(device.error());
  const Outcome<MigMode> mode = read_mig_mode(library, *device, gpu.uuid);
  if (!mode) return std::unexpected(mode.error());
  if (*mode == MigMode::kOn) return Preparation{.mode = *mode, .holders = {}, .next = {}};
  nvml::Return status = nvml::kSuccess;
  const nvml::Return code = library.calls().set_mig_mode(*device, nvml::kMigOn, &status);
  if (code != nvml::kSuccess && code != nvml::kInUse && code != nvml::kResetRequired) {
    return std::unexpected(failure_of(code, "switch MIG on", gpu.uuid));
  }
  return outcome_of(library, gpu, *device, code == nvml::kSuccess ? status : code);
}

Outcome<Preparation> prepare_unused(const Library& library, const Gpu& gpu) {
  auto holders = all_processes(library, gpu.uuid);
  if (!holders) return std::unexpected(holders.error());
  if (holders->empty()) return prepare(library, gpu);
  std::string next =
      cat("MIG was not switched on on ", gpu.uuid, ": it is in use by ", names_of(*holders), ".");
  return Preparation{.mode = gpu.mig, .holders = *std::move(holders), .next = std::move(next)};
}

}  // namespace tangram::device
