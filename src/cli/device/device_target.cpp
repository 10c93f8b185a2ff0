// See device_target.hpp.
#include "cli/device/device_target.hpp"

#include <unistd.h>

#include "base/text.hpp"
#include "cli/command/environment.hpp"
#include "device/instances.hpp"
#include "os/boot_id.hpp"
#include "os/install_paths.hpp"

namespace tangram::cli {
namespace {

// An emulated node is chosen by option or environment. --nvml and TANGRAM_NVML take precedence.
bool is_emulated(const DeviceOptions& options) {
  if (!options.emulated.node.empty() || !options.emulated.state.empty()) return true;
  return options.library.empty() && environment("TANGRAM_NVML").empty() &&
         (!environment("TANGRAM_EMULATE").empty() ||
          !environment("TANGRAM_EMULATOR_STATE").empty());
}

}  // namespace

void add_device_options(Verb& verb, DeviceOptions& options) {
  const char* group = "Library";
  verb.add_option("--nvml", options.library,
                  "NVML library (default: $TANGRAM_NVML or libnvidia-ml.so.1)")
      ->option_text("FILE")
      ->group(group);
  verb.add_option("--emulate", options.emulated.node,
                  "Use the emulated library with this node, e.g. 4xA100-40GB")
      ->option_text("NODE")
      ->group(group)
      ->excludes("--nvml");
  verb.add_option("--state", options.emulated.state, "State file of the emulated node")
      ->option_text("FILE")
      ->group(group)
      ->excludes("--nvml");
}

void add_gpu_option(Verb& verb, DeviceOptions& options, const char* help) {
  verb.add_option("--gpu", options.gpu, help)->option_text("GPU");
}

void add_owned_option(Verb& verb, DeviceOptions& options) {
  verb.add_option(
          "--owned", options.owned,
          "Record of the instances that Tangram created (default: in /var/lib/tangram or the "
          "user's state directory; next to the state file if emulated)")
      ->option_text("FILE");
}

Result<std::string> library_of(const DeviceOptions& options) {
  if (!options.library.empty()) return options.library;
  if (is_emulated(options)) return os::emulated_library();
  return device::library_path();
}

Result<DeviceTarget> open_target(const DeviceOptions& options) {
  apply(options.emulated);
  if (is_emulated(options)) {  // its error is more precise about a bad node
    if (const auto state = emulated_state_path(); !state) return std::unexpected(state.error());
  }
  const auto path = library_of(options);
  if (!path) return std::unexpected(path.error());
  const auto library = device::Library::open(*path);
  if (!library) return std::unexpected(library.error());
  auto gpus = device::list_gpus(**library);
  if (!gpus) return error_of(gpus);
  return DeviceTarget{*library, std::move(*gpus)};
}

Result<std::string> owned_path(const DeviceOptions& options) {
  if (!options.owned.empty()) return options.owned;
  if (is_emulated(options)) {
    const auto state = emulated_state_path();
    if (!state) return state;
    return *state + ".owned";
  }
  // The library of --nvml may be the emulated one: keep its record apart from the machine's.
  const std::string state = environment("TANGRAM_EMULATOR_STATE");
  if (!state.empty()) return state + ".owned";
  if (geteuid() == 0) return "/var/lib/tangram/owned";
  const std::string folder = environment("XDG_STATE_HOME");
  return (folder.empty() ? environment("HOME") + "/.local/state" : folder) + "/tangram/owned";
}

Result<OwnedRecord> open_owned(const DeviceOptions& options) {
  const auto path = owned_path(options);
  if (!path) return std::unexpected(path.error());
  const device::OwnedInstancesFile file(*path, os::boot_id());
  auto lock = file.lock_changes();
  if (!lock) {
    return failed(cat(lock.error().message, " Choose another record with --owned."));
  }
  auto owned = file.open();
  if (!owned) return std::unexpected(owned.error());
  return OwnedRecord{std::move(*lock), std::move(*owned)};
}

Result<std::vector<device::Instance>> list_instances(const DeviceTarget& target,
                                                     const device::Gpu& gpu,
                                                     device::OwnedInstances& owned) {
  auto present = device::list_instances_with_retry(*target.library, gpu);
  if (!present) return error_of(present);
  if (const auto tidied = owned.forget_gone(gpu.uuid, *present); !tidied) {
    return std::unexpected(tidied.error());
  }
  return *std::move(present);
}

Result<const device::Gpu*> find_gpu(const DeviceTarget& target, const std::string& name) {
  if (name.empty()) {
    if (target.gpus.size() == 1) return &target.gpus.front();
    return invalid(cat("there are ", target.gpus.size(),
                       " GPUs; choose one with --gpu (index, UUID or UUID prefix)."));
  }
  const device::Gpu* found = nullptr;
  for (const device::Gpu& gpu : target.gpus) {
    if (name == std::to_string(gpu.index) || name == gpu.uuid) return &gpu;
    const bool begins =
        name.size() >= 4 && (gpu.uuid.starts_with(name) || gpu.uuid.starts_with("GPU-" + name));
    if (!begins) continue;
    if (found != nullptr) return invalid(cat(tangram::quoted(name), " matches more than one GPU."));
    found = &gpu;
  }
  if (found != nullptr) return found;
  return invalid(cat("GPU ", tangram::quoted(name), ": not found; this node has GPUs 0 to ",
                     target.gpus.size() - 1, ". See `tangram device list`."));
}

Result<std::vector<const device::Gpu*>> chosen_gpus(const DeviceTarget& target,
                                                    const std::string& name) {
  std::vector<const device::Gpu*> all;
  if (name.empty()) {
    for (const device::Gpu& gpu : target.gpus) all.push_back(&gpu);
    return all;
  }
  const auto one = find_gpu(target, name);
  if (!one) return std::unexpected(one.error());
  all.push_back(*one);
  return all;
}

boost::json::object instance_json(const device::Instance& instance, bool ours) {
  boost::json::object o{
      {"gpu", instance.gpu_uuid}, {"gi", instance.gi},     {"profile", instance.profile},
      {"start", instance.start},  {"size", instance.size}, {"whole", instance.whole},
      {"uuid", nullptr},          {"ours", ours}};
  if (!instance.mig_uuid.empty()) o["uuid"] = instance.mig_uuid;
  return o;
}

}  // namespace tangram::cli
