// The values of the device module: what the driver reports of a node's GPUs. gpus.hpp,
// instances.hpp and activity.hpp read them, change.hpp changes them, workers.hpp does so within
// time limits. The emulated driver is used the same way. A GPU is identified by its UUID and an
// instance by its location, never by an index: indexes shift.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "mig/model.hpp"

namespace tangram::device {

enum class MigMode : std::uint8_t {
  kUnknown,  // could not be read
  kUnsupported,
  kOff,
  kOn,
  kPendingOn,   // requested; needs a reset, or all clients of the GPU to end
  kPendingOff,  // on now, off after the next reset
};

enum class Health : std::uint8_t {
  kOk,
  kLost,        // fell off the bus
  kUnreadable,  // listed by the driver but not readable
};

// What does not change while the driver is loaded, and the MIG mode.
struct Gpu {
  std::string uuid;  // "GPU-…"
  unsigned index = 0;
  unsigned minor = 0;       // N of /dev/nvidiaN
  std::string pci_bus_id;   // "00000000:17:00.0"
  std::string device_name;  // "NVIDIA A100-SXM4-40GB"
  unsigned architecture = 0;
  unsigned memory_mib = 0;
  bool resetless = false;  // MIG mode can be switched without a reset (Hopper and later)
  MigMode mig = MigMode::kUnknown;
  Health health = Health::kOk;
  std::string trouble;  // why it is not healthy, or has no model; empty if nothing is wrong
  std::shared_ptr<const mig::Model> model;  // as the driver reports it; null: see `trouble`
  std::vector<std::string> differences;     // from the built-in table, for the log
};

// Identifies an instance, also before it exists: the driver derives an instance's id from its
// profile and start.
struct InstanceLocation {
  std::string gpu_uuid;
  std::string profile;  // "2g.10gb"
  unsigned start = 0;

  friend auto operator<=>(const InstanceLocation&, const InstanceLocation&) = default;
};

// A GPU instance with its compute instance, as the driver reports it now.
struct Instance {
  std::string gpu_uuid;
  unsigned gi = 0;                          // the driver's id, reused after destruction
  std::optional<unsigned> ci;               // none: incomplete; several: the first
  bool whole = false;                       // exactly one compute instance fills it
  std::optional<mig::Placement> placement;  // none: a profile the model does not know
  std::string profile;                      // "2g.10gb"
  unsigned start = 0;
  unsigned size = 0;
  std::string mig_uuid;  // "MIG-…"; empty without a compute instance

  friend bool operator==(const Instance&, const Instance&) = default;
};

[[nodiscard]] inline InstanceLocation location_of(const Instance& instance) {
  return {.gpu_uuid = instance.gpu_uuid, .profile = instance.profile, .start = instance.start};
}

struct Process {
  unsigned pid = 0;
  std::string name;  // empty if it cannot be read
  std::uint64_t memory_bytes = 0;
  std::optional<unsigned> gi;  // none: on the whole GPU
};

struct PcieThroughput {
  std::uint64_t to_gpu_kbps = 0;
  std::uint64_t from_gpu_kbps = 0;
};

// An event that the driver reported.
struct DeviceEvent {
  enum class Kind : std::uint8_t { kXid, kMigConfigChange, kUnavailable };
  std::string gpu_uuid;
  Kind kind = Kind::kXid;
  std::uint64_t xid = 0;
  std::optional<unsigned> gi;
  std::optional<unsigned> ci;
};

}  // namespace tangram::device
