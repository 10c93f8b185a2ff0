// The ABI of NVIDIA's management library: result codes, constants and structs, as far as Tangram or
// its emulator uses them. Our own declarations of published facts; no NVIDIA header is needed. A
// module of its own because `device` calls the library and `emulator` implements it. Every size and
// offset is asserted.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tangram::nvml {

// nvmlReturn_t, an int-sized enum in C.
enum Return : int {
  kSuccess = 0,
  kUninitialized = 1,
  kInvalidArgument = 2,
  kNotSupported = 3,
  kNoPermission = 4,
  kAlreadyInitialized = 5,
  kNotFound = 6,
  kInsufficientSize = 7,
  kInsufficientPower = 8,
  kDriverNotLoaded = 9,
  kTimeout = 10,
  kIrqIssue = 11,
  kLibraryNotFound = 12,
  kFunctionNotFound = 13,
  kCorruptedInforom = 14,
  kGpuIsLost = 15,
  kResetRequired = 16,
  kOperatingSystem = 17,
  kLibRmVersionMismatch = 18,
  kInUse = 19,
  kMemory = 20,
  kNoData = 21,
  kVgpuEccNotSupported = 22,
  kInsufficientResources = 23,
  kFreqNotSupported = 24,
  kArgumentVersionMismatch = 25,
  kDeprecated = 26,
  kNotReady = 27,
  kGpuNotFound = 28,
  kInvalidState = 29,
  kResetTypeNotSupported = 30,
  kUnknown = 999,
};

// Opaque handles: 8 bytes, passed by value.
using Device = struct DeviceHandle*;
using GpuInstance = struct GpuInstanceHandle*;
using ComputeInstance = struct ComputeInstanceHandle*;
using EventSet = struct EventSetHandle*;

inline constexpr unsigned kInitNoGpus = 1;
inline constexpr unsigned kInitNoAttach = 2;
inline constexpr unsigned kInitForce = 4;

inline constexpr unsigned kMigOff = 0;
inline constexpr unsigned kMigOn = 1;
inline constexpr unsigned kNoInstanceId = 0xFFFFFFFFU;  // in process and event records

// Profile numbers, as arguments; the `id` in the result is another number.
inline constexpr unsigned kGiProfileCount = 0x12;
inline constexpr unsigned kGiProfile1SliceRev2 = 9;  // double memory
inline constexpr unsigned kCiProfileCount = 9;
inline constexpr unsigned kCiProfile1SliceRev1 = 7;  // fills a double-memory 1g on Hopper and later
inline constexpr unsigned kCiEngineShared = 0;
inline constexpr unsigned kCapabilityGfx = 2;

inline constexpr unsigned kUuidBuffer = 80;
inline constexpr unsigned kNameBuffer = 64;
inline constexpr unsigned kVersionBuffer = 80;

inline constexpr unsigned kPcieTx = 0;
inline constexpr unsigned kPcieRx = 1;

inline constexpr unsigned kArchAmpere = 7;
inline constexpr unsigned kArchHopper = 9;
inline constexpr unsigned kArchBlackwell = 10;

inline constexpr unsigned long long kEventXid = 0x8;
inline constexpr unsigned long long kEventMigConfigChange = 0x100;
inline constexpr unsigned long long kEventGpuUnavailable = 0x4000;

inline constexpr unsigned kFieldResetlessMig = 184;

struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned pci_device_id;  // device << 16 | vendor
  unsigned pci_subsystem_id;
  char bus_id[32];
};
static_assert(sizeof(PciInfo) == 68 && offsetof(PciInfo, bus_id) == 36);
inline constexpr std::size_t kOldPciInfoBytes = 36;  // before bus_id

struct PciInfoExt {
  unsigned version;
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned pci_device_id;
  unsigned pci_subsystem_id;
  unsigned base_class;
  unsigned sub_class;
  char bus_id[32];
};
static_assert(sizeof(PciInfoExt) == 64 && offsetof(PciInfoExt, bus_id) == 32);

struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};
static_assert(sizeof(Memory) == 24);
using Bar1Memory = Memory;  // total, free, used as well

struct MemoryV2 {
  unsigned version;
  unsigned long long total;
  unsigned long long reserved;
  unsigned long long free;
  unsigned long long used;
};
static_assert(sizeof(MemoryV2) == 40 && offsetof(MemoryV2, total) == 8);

struct Utilization {
  unsigned gpu;
  unsigned memory;
};
static_assert(sizeof(Utilization) == 8);

struct ProcessInfoV1 {
  unsigned pid;
  unsigned long long used_gpu_memory;
};
static_assert(sizeof(ProcessInfoV1) == 16 && offsetof(ProcessInfoV1, used_gpu_memory) == 8);

struct ProcessInfo {
  unsigned pid;
  unsigned long long used_gpu_memory;
  unsigned gpu_instance_id;
  unsigned compute_instance_id;
};
static_assert(sizeof(ProcessInfo) == 24 && offsetof(ProcessInfo, gpu_instance_id) == 16);

struct ProcessDetail {
  unsigned pid;
  unsigned long long used_gpu_memory;
  unsigned gpu_instance_id;
  unsigned compute_instance_id;
  unsigned long long used_protected_memory;
};
static_assert(sizeof(ProcessDetail) == 32 && offsetof(ProcessDetail, used_protected_memory) == 24);

struct ProcessDetailList {
  unsigned version;
  unsigned mode;
  unsigned count;
  ProcessDetail* entries;
};
static_assert(sizeof(ProcessDetailList) == 24 && offsetof(ProcessDetailList, entries) == 16);

struct DeviceAttributes {
  unsigned multiprocessor_count;
  unsigned shared_copy_engine_count;
  unsigned shared_decoder_count;
  unsigned shared_encoder_count;
  unsigned shared_jpeg_count;
  unsigned shared_ofa_count;
  unsigned gpu_instance_slice_count;
  unsigned compute_instance_slice_count;
  unsigned long long memory_size_mb;
};
static_assert(sizeof(DeviceAttributes) == 40 && offsetof(DeviceAttributes, memory_size_mb) == 32);

struct Placement {  // of a GPU instance in memory slices, of a compute instance in compute slices
  unsigned start;
  unsigned size;
};
static_assert(sizeof(Placement) == 8);

struct GiProfileInfo {
  unsigned id;
  unsigned is_p2p_supported;
  unsigned slice_count;
  unsigned instance_count;
  unsigned multiprocessor_count;
  unsigned copy_engine_count;
  unsigned decoder_count;
  unsigned encoder_count;
  unsigned jpeg_count;
  unsigned ofa_count;
  unsigned long long memory_size_mb;
};
static_assert(sizeof(GiProfileInfo) == 48 && offsetof(GiProfileInfo, memory_size_mb) == 40);

struct GiProfileInfoV2 {
  unsigned version;
  unsigned id;
  unsigned is_p2p_supported;
  unsigned slice_count;
  unsigned instance_count;
  unsigned multiprocessor_count;
  unsigned copy_engine_count;
  unsigned decoder_count;
  unsigned encoder_count;
  unsigned jpeg_count;
  unsigned ofa_count;
  unsigned long long memory_size_mb;
  char name[96];
};
static_assert(sizeof(GiProfileInfoV2) == 152 && offsetof(GiProfileInfoV2, memory_size_mb) == 48 &&
              offsetof(GiProfileInfoV2, name) == 56);

struct GiProfileInfoV3 {
  unsigned version;
  unsigned id;
  unsigned slice_count;
  unsigned instance_count;
  unsigned multiprocessor_count;
  unsigned copy_engine_count;
  unsigned decoder_count;
  unsigned encoder_count;
  unsigned jpeg_count;
  unsigned ofa_count;
  unsigned long long memory_size_mb;
  char name[96];
  unsigned capabilities;
};
static_assert(sizeof(GiProfileInfoV3) == 152 && offsetof(GiProfileInfoV3, memory_size_mb) == 40 &&
              offsetof(GiProfileInfoV3, name) == 48 &&
              offsetof(GiProfileInfoV3, capabilities) == 144);

struct GpuInstanceInfo {
  Device device;
  unsigned id;
  unsigned profile_id;
  Placement placement;
};
static_assert(sizeof(GpuInstanceInfo) == 24 && offsetof(GpuInstanceInfo, placement) == 16);

struct CiProfileInfo {
  unsigned id;
  unsigned slice_count;
  unsigned instance_count;
  unsigned multiprocessor_count;
  unsigned shared_copy_engine_count;
  unsigned shared_decoder_count;
  unsigned shared_encoder_count;
  unsigned shared_jpeg_count;
  unsigned shared_ofa_count;
};
static_assert(sizeof(CiProfileInfo) == 36);

struct CiProfileInfoV2 {
  unsigned version;
  CiProfileInfo info;
  char name[96];
};
static_assert(sizeof(CiProfileInfoV2) == 136 && offsetof(CiProfileInfoV2, name) == 40);

struct CiProfileInfoV3 {
  unsigned version;
  CiProfileInfo info;
  char name[96];
  unsigned capabilities;
};
static_assert(sizeof(CiProfileInfoV3) == 140 && offsetof(CiProfileInfoV3, capabilities) == 136);

struct ComputeInstanceInfo {
  Device device;  // the MIG device
  GpuInstance gpu_instance;
  unsigned id;
  unsigned profile_id;
  Placement placement;
};
static_assert(sizeof(ComputeInstanceInfo) == 32 && offsetof(ComputeInstanceInfo, placement) == 24);
inline constexpr std::size_t kOldComputeInstanceInfoBytes = 24;  // before placement

struct EventData {
  Device device;
  unsigned long long event_type;
  unsigned long long event_data;
  unsigned gpu_instance_id;
  unsigned compute_instance_id;
};
static_assert(sizeof(EventData) == 32 && offsetof(EventData, gpu_instance_id) == 24);
inline constexpr std::size_t kOldEventDataBytes = 24;  // before the instance ids

struct Uuid {
  unsigned version;
  unsigned type;  // 1 ASCII, 2 sixteen raw bytes
  char value[41];
};
static_assert(sizeof(Uuid) == 52 && offsetof(Uuid, value) == 8);

struct FieldValue {
  unsigned field_id;
  unsigned scope_id;
  long long timestamp;
  long long latency_usec;
  unsigned value_type;  // 1: unsigned int
  Return nvml_return;
  union {
    double d;
    unsigned ui;
    unsigned long long ull;
  } value;
};
static_assert(sizeof(FieldValue) == 40 && offsetof(FieldValue, value) == 32);

// The version field that opens a versioned struct.
template <class T>
constexpr unsigned version_of(unsigned version) {
  return static_cast<unsigned>(sizeof(T)) | version << 24U;
}
static_assert(version_of<MemoryV2>(2) == 0x02000028 &&
              version_of<GiProfileInfoV2>(2) == 0x02000098 &&
              version_of<GiProfileInfoV3>(3) == 0x03000098 &&
              version_of<CiProfileInfoV2>(2) == 0x02000088 &&
              version_of<CiProfileInfoV3>(3) == 0x0300008C &&
              version_of<ProcessDetailList>(1) == 0x01000018 &&
              version_of<PciInfoExt>(1) == 0x01000040 && version_of<Uuid>(1) == 0x01000034);

}  // namespace tangram::nvml
