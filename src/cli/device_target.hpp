// What the `tangram device` verbs share: which library and which GPU is meant, and whose the
// instances are. One rule: real and emulated GPUs differ in where the library is and in nothing
// else.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "base/error.hpp"
#include "cli/emulated_library.hpp"
#include "cli/verbs.hpp"
#include "device/gpus.hpp"
#include "device/library.hpp"
#include "device/owned_file.hpp"

namespace tangram::cli {

struct DeviceOptions {
  std::string library;  // --nvml
  EmulatedNode emulated;
  std::string owned;  // --owned
  std::string gpu;    // --gpu, where a verb has it
};
void add_device_options(Verb& verb, DeviceOptions& options);
void add_gpu_option(Verb& verb, DeviceOptions& options, const char* help);
// --owned: the record of Tangram's own instances.
void add_owned_option(Verb& verb, DeviceOptions& options);

// An opened library with its GPUs.
struct DeviceTarget {
  std::shared_ptr<const device::Library> library;
  std::vector<device::Gpu> gpus;
};
[[nodiscard]] Result<DeviceTarget> open_target(const DeviceOptions& options);
// The path that open_target would use.
[[nodiscard]] Result<std::string> library_of(const DeviceOptions& options);
// The record of this machine's (or emulated node's) instances that are ours.
[[nodiscard]] Result<std::string> owned_path(const DeviceOptions& options);

// That record, opened; no other command changes instances as long as it is.
struct OwnedRecord {
  files::Descriptor lock;
  std::unique_ptr<device::Owned> owned;
};
[[nodiscard]] Result<OwnedRecord> open_owned(const DeviceOptions& options);
// What stands on a GPU; what is recorded and gone is ours no more.
[[nodiscard]] Result<std::vector<device::Instance>> look_at(const DeviceTarget& target,
                                                            const device::Gpu& gpu,
                                                            device::Owned& owned);

// A GPU by its index, its UUID or the beginning of one; with one GPU in the node it need not be
// named.
[[nodiscard]] Result<const device::Gpu*> find_gpu(const DeviceTarget& target,
                                                  const std::string& name);
// All, or the one that is named.
[[nodiscard]] Result<std::vector<const device::Gpu*>> chosen_gpus(const DeviceTarget& target,
                                                                  const std::string& name);

[[nodiscard]] boost::json::object instance_json(const device::Instance& instance, bool ours);

// An Error of a Failure, with everything it says.
template <class T>
[[nodiscard]] std::unexpected<Error> error_of(const device::Outcome<T>& outcome) {
  return std::unexpected(outcome.error().error);
}

}  // namespace tangram::cli
