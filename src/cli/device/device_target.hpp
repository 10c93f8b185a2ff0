// What the `tangram device` verbs share: selecting the library and the GPU, and the record of owned
// instances. Real and emulated GPUs differ only in the path of the library.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "base/error.hpp"
#include "cli/command/verbs.hpp"
#include "cli/device/emulated_library.hpp"
#include "device/gpus.hpp"
#include "device/library.hpp"
#include "device/owned_instances_file.hpp"

namespace tangram::cli {

struct DeviceOptions {
  std::string library;  // --nvml
  EmulatedNode emulated;
  std::string owned;  // --owned
  std::string gpu;    // --gpu, where a verb has it
};
void add_device_options(Verb& verb, DeviceOptions& options);
void add_gpu_option(Verb& verb, DeviceOptions& options, const char* help);
// Adds --owned: the record of the instances that Tangram created.
void add_owned_option(Verb& verb, DeviceOptions& options);

// An open library with its GPUs.
struct DeviceTarget {
  std::shared_ptr<const device::Library> library;
  std::vector<device::Gpu> gpus;
};
[[nodiscard]] Result<DeviceTarget> open_target(const DeviceOptions& options);
// The path of the library that open_target() would load.
[[nodiscard]] Result<std::string> library_of(const DeviceOptions& options);
// The path of the record of owned instances, of this machine or of the emulated node.
[[nodiscard]] Result<std::string> owned_path(const DeviceOptions& options);

// The open record with its lock: no other command changes instances while it exists.
struct OwnedRecord {
  os::Descriptor lock;
  std::unique_ptr<device::OwnedInstances> owned;
};
[[nodiscard]] Result<OwnedRecord> open_owned(const DeviceOptions& options);
// Lists the instances of a GPU, and removes recorded ones that are gone from the record.
[[nodiscard]] Result<std::vector<device::Instance>> list_instances(const DeviceTarget& target,
                                                                   const device::Gpu& gpu,
                                                                   device::OwnedInstances& owned);

// Finds a GPU by index, UUID or unique UUID prefix. `name` may be empty if the node has one GPU.
[[nodiscard]] Result<const device::Gpu*> find_gpu(const DeviceTarget& target,
                                                  const std::string& name);
// All GPUs if `name` is empty, else the one it names.
[[nodiscard]] Result<std::vector<const device::Gpu*>> chosen_gpus(const DeviceTarget& target,
                                                                  const std::string& name);

[[nodiscard]] boost::json::object instance_json(const device::Instance& instance, bool ours);

// The Error inside a device failure.
template <class T>
[[nodiscard]] std::unexpected<Error> error_of(const device::Outcome<T>& outcome) {
  return std::unexpected(outcome.error().error);
}

}  // namespace tangram::cli
