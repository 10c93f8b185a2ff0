// The device port: what Tangram knows of the GPUs of a node and what it may do to them. Everything
// goes through the driver's management library; an emulated one is reached the same way. These are
// plain values; the files beside this one read them (gpus.hpp, instances.hpp, activity.hpp), change
// them (change.hpp), and do so in time (workers.hpp). One rule: a GPU is known by its UUID and an
// instance by its place, never by an index, because indexes shift.
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
  kUnknown,  // could not be asked
  kUnsupported,
  kOff,
  kOn,
  kPendingOn,   // asked for; needs a reset, or the GPU to be left by its clients
  kPendingOff,  // on now, off after the next reset
};

enum class Health : std::uint8_t {
  kOk,
  kLost,        // fell off the bus
  kUnreadable,  // the driver counts it but does not let us look
};

// What never changes while the driver is loaded, and the state of its MIG mode.
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
  std::vector<std::string> differences;  // between the report and the built-in table, for the log
};

// Where an instance stands. The driver derives an instance's id from its place and size, so the
// place says as much as the id, and can be named before the instance exists.
struct Place {
  std::string gpu_uuid;
  std::string profile;  // "2g.10gb"
  unsigned start = 0;

  friend auto operator<=>(const Place&, const Place&) = default;
};

// A GPU instance with the compute instance that fills it, as the driver has it now.
struct Instance {
  std::string gpu_uuid;
  unsigned gi = 0;                          // the driver's id, reused after destruction
  std::optional<unsigned> ci;               // none: half made, or being destroyed; split: the first
  bool whole = false;                       // one compute instance fills it
  std::optional<mig::Placement> placement;  // none: a profile the model does not know
  std::string profile;                      // "2g.10gb"
  unsigned start = 0;
  unsigned size = 0;
  std::string mig_uuid;  // "MIG-…"; empty without a compute instance

  friend bool operator==(const Instance&, const Instance&) = default;
};

[[nodiscard]] inline Place place_of(const Instance& instance) {
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

// An event of the driver's.
struct DeviceEvent {
  enum class Kind : std::uint8_t { kXid, kMigConfigChange, kUnavailable };
  std::string gpu_uuid;
  Kind kind = Kind::kXid;
  std::uint64_t xid = 0;
  std::optional<unsigned> gi;
  std::optional<unsigned> ci;
};

}  // namespace tangram::device
