// The state of an emulated node in its file: plain records of fixed size, mapped by every process
// that uses the emulated library. A GPU's instances are indexed by the driver's id, so records need
// no pointers. Every record is trivially copyable and a multiple of eight bytes, because it is
// copied word by word between processes (seqlock_record.hpp).
#pragma once

#include <cstdint>
#include <type_traits>

namespace tangram::emulator {

inline constexpr unsigned kMaxGpus = 32;       // as in the kernel's capability files
inline constexpr unsigned kGiIds = 15;         // 0..14
inline constexpr unsigned kMaxCis = 8;         // per GPU instance
inline constexpr unsigned kMaxProcesses = 64;  // per GPU
inline constexpr unsigned kMaxFlows = 32;
inline constexpr unsigned kEventsKept = 32;
inline constexpr unsigned kMaxFaults = 16;
inline constexpr std::uint32_t kWholeGpu = 0xFFFFFFFFU;  // instead of an instance's id

struct CiState {
  std::uint8_t used = 0;
  std::uint8_t profile = 0;  // NVML's number, which is also its id
  std::uint8_t start = 0;    // in compute slices
  std::uint8_t size = 0;
  std::uint32_t generation = 0;  // handles with another value are stale
};

struct GiState {
  std::uint8_t used = 0;
  std::uint8_t profile = 0;  // index in the model's list
  std::uint8_t start = 0;    // in memory slices
  std::uint8_t had_process = 0;
  std::uint32_t generation = 0;
  std::int64_t lingers_until_ns = 0;  // CLOCK_BOOTTIME; in use until then
  CiState cis[kMaxCis]{};
};

struct ProcessState {
  std::uint32_t pid = 0;  // 0: unused
  std::uint32_t gi = kWholeGpu;
  std::uint32_t ci = kWholeGpu;
  std::uint32_t unused = 0;
  std::uint64_t started = 0;  // in ticks since boot; pids are reused
  std::uint64_t memory_bytes = 0;
};

// A process's demand on the PCIe link.
struct FlowState {
  std::uint32_t pid = 0;
  std::uint32_t gi = kWholeGpu;
  std::uint32_t ci = kWholeGpu;
  std::uint32_t unused = 0;
  std::uint64_t started = 0;
  std::uint32_t to_gpu_kbps = 0;
  std::uint32_t from_gpu_kbps = 0;
};

struct EventState {
  std::uint64_t type = 0;
  std::uint64_t data = 0;
  std::uint32_t gi = kWholeGpu;
  std::uint32_t ci = kWholeGpu;
};

struct GpuState {
  char model[40]{};  // of the catalog
  std::uint8_t uuid[16]{};
  std::uint8_t mig_current = 0;
  std::uint8_t mig_pending = 0;
  std::uint8_t lost = 0;
  std::uint8_t swapped = 0;  // a board whose halves are numbered the other way round
  std::uint8_t in_vm = 0;    // cannot be reset from inside the VM
  std::uint8_t unused[3]{};
  std::uint32_t link_kbps = 0;  // capacity in each direction
  std::uint32_t flow_kbps = 0;  // maximum of one process
  std::uint32_t next_generation = 1;
  std::uint32_t changes = 0;         // of instances, so far
  std::uint64_t events_written = 0;  // the last kEventsKept are kept
  GiState gis[kGiIds]{};
  ProcessState processes[kMaxProcesses]{};
  FlowState flows[kMaxFlows]{};
  EventState events[kEventsKept]{};
};

struct Latencies {  // in microseconds
  std::uint32_t create_gi = 0;
  std::uint32_t create_ci = 0;
  std::uint32_t destroy_ci = 0;
  std::uint32_t destroy_gi = 0;
  std::uint32_t linger = 0;  // upper bound
  std::uint32_t mig_mode = 0;
  std::uint32_t pcie_throughput = 0;
  std::uint32_t unused = 0;
};

enum class Privileges : std::uint8_t { kOwner, kRoot };

// The source of the node: the short form, or the whole node file.
struct DescriptionState {
  char text[4096]{};
};

struct NodeState {
  char driver[40]{};
  std::uint32_t gpu_count = 0;
  Privileges privileges = Privileges::kOwner;
  std::uint8_t find_processes = 0;
  std::uint8_t unused[2]{};
  Latencies latencies;
};

enum class FaultKind : std::uint8_t { kNone, kError, kHang, kLie };

struct FaultState {
  char call[64]{};  // without a version suffix; "*" for all
  std::int32_t gpu = -1;
  std::int32_t error = 0;
  std::uint32_t hang_ms = 0;
  std::uint32_t times = 0;  // left; 0: until cleared
  std::uint32_t percent = 100;
  FaultKind kind = FaultKind::kNone;
  std::uint8_t unused[3]{};
};

struct FaultsState {
  std::uint64_t draws = 0;  // from the random sequence for `percent`
  std::uint64_t hits = 0;
  FaultState faults[kMaxFaults]{};
};

template <class T>
concept Shareable = std::is_trivially_copyable_v<T> && sizeof(T) % 8 == 0;
static_assert(Shareable<GpuState> && Shareable<NodeState> && Shareable<DescriptionState> &&
              Shareable<FaultsState>);

}  // namespace tangram::emulator
