// NVML: the library, the system, and finding devices.
#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

#include "base/text.hpp"
#include "emulator/call.hpp"
#include "emulator/identity.hpp"
#include "emulator/uuid.hpp"
#include "nvml/functions.hpp"

namespace tangram::nvml {
namespace {

using emulator::Handle;
using emulator::StateFile;
using emulator::to_opaque;

// Parses "00000000:07:00.0", "0000:07:00.0", "07:00.0" or "00000000:07:00"; returns the bus.
std::optional<unsigned> bus_of(std::string_view id) {
  const auto hex = [](std::string_view text) -> std::optional<unsigned> {
    if (text.empty() || text.size() > 8) return std::nullopt;
    unsigned value = 0;
    for (const char c : text) {
      const std::size_t digit = std::string_view("0123456789abcdef").find(c | 0x20);
      if (digit == std::string_view::npos) return std::nullopt;
      value = value * 16 + static_cast<unsigned>(digit);
    }
    return value;
  };
  const std::size_t last = id.rfind(':');
  if (last == std::string_view::npos) return std::nullopt;
  std::string_view device = id.substr(last + 1);
  device = device.substr(0, device.find('.'));
  std::string_view front = id.substr(0, last);
  const std::size_t colon = front.rfind(':');
  if (colon != std::string_view::npos) {
    if (hex(front.substr(0, colon)) != 0U) return std::nullopt;
    front = front.substr(colon + 1);
  }
  if (hex(device) != 0U) return std::nullopt;
  return hex(front);
}

// The major version of NVML and CUDA: 13 from R580 on.
int api_major(std::string_view driver) {
  constexpr int kFirstOf13 = 580;
  const auto branch = parse_int(driver.substr(0, driver.find('.')), 0, 100'000);
  return branch && *branch >= kFirstOf13 ? 13 : 12;
}

Return give_gpu(StateFile& state, unsigned index, Device* device) {
  if (state.gpu(index).lost != 0) return kGpuIsLost;
  *device = to_opaque<Device>(emulator::gpu_handle(index));
  return kSuccess;
}

// Parses "GPU-8d3f…" to its sixteen bytes.
std::optional<emulator::UuidBytes> bytes_of(std::string_view text) {
  emulator::UuidBytes bytes{};
  std::size_t digits = 0;
  for (const char c : text) {
    if (c == '-') continue;
    const std::size_t digit = std::string_view("0123456789abcdef").find(c);
    if (digit == std::string_view::npos || digits >= 2 * bytes.size()) return std::nullopt;
    std::uint8_t& byte = bytes[digits++ / 2];
    byte = static_cast<std::uint8_t>((static_cast<std::size_t>(byte) << 4U) | digit);
  }
  return digits == 2 * bytes.size() ? std::optional(bytes) : std::nullopt;
}

Return find_gpu(StateFile& state, const emulator::UuidBytes& wanted, Device* device) {
  const unsigned count = state.gpu_count();
  for (unsigned i = 0; i < count; ++i) {
    if (std::ranges::equal(state.gpu(i).uuid, wanted)) return give_gpu(state, i, device);
  }
  return kNotFound;
}

// Finds "MIG-…", or as before R470 "MIG-GPU-…/gi/ci".
Return find_mig(StateFile& state, std::string_view wanted, Device* device) {
  const auto bytes = bytes_of(wanted.substr(4));
  const unsigned count = state.gpu_count();
  for (unsigned i = 0; i < count; ++i) {
    const emulator::GpuState gpu = state.gpu(i);
    for (const emulator::MigDevice mig : emulator::mig_devices(gpu)) {
      const bool same =
          bytes ? emulator::mig_uuid(gpu.uuid, mig.gi, mig.ci) == *bytes
                : wanted == cat("MIG-", emulator::uuid_of(gpu), "/", mig.gi, "/", mig.ci);
      if (!same) continue;
      if (gpu.lost != 0) return kGpuIsLost;
      *device = to_opaque<Device>(emulator::mig_handle(gpu, i, mig));
      return kSuccess;
    }
  }
  return kNotFound;
}

Return find_uuid(StateFile& state, std::string_view wanted, Device* device) {
  if (wanted.starts_with("MIG-")) return find_mig(state, wanted, device);
  if (!wanted.starts_with("GPU-")) return kNotFound;
  const auto bytes = bytes_of(wanted.substr(4));
  return bytes ? find_gpu(state, *bytes, device) : kNotFound;
}

Return handle_by_index(std::string_view name, unsigned index, Device* device) {
  if (device == nullptr) return emulator::session_state() ? kInvalidArgument : kUninitialized;
  return emulator::on_index(
      name, emulator::Rights::kNothing, emulator::gpu_handle(index),
      [&](emulator::Target& t) { return give_gpu(t.state, t.index, device); });
}

Return handle_by_bus(std::string_view name, const char* id, Device* device) {
  return emulator::on_node(name, [&](StateFile& state) {
    if (id == nullptr || device == nullptr) return kInvalidArgument;
    const auto bus = bus_of(id);
    if (!bus) return kInvalidArgument;
    for (unsigned i = 0; i < state.gpu_count(); ++i) {
      if (emulator::pci_bus(i) == *bus) return give_gpu(state, i, device);
    }
    return kNotFound;
  });
}

}  // namespace

extern "C" {

Return nvmlInit_v2(void) { return emulator::session_init(); }
Return nvmlInit(void) { return emulator::session_init(); }
Return nvmlInitWithFlags(unsigned /*flags*/) { return emulator::session_init(); }
Return nvmlShutdown(void) { return emulator::session_shutdown(); }
const char* nvmlErrorString(Return result) { return emulator::error_sentence(result); }

Return nvmlSystemGetDriverVersion(char* version, unsigned length) {
  return emulator::on_node("nvmlSystemGetDriverVersion", [&](StateFile& state) {
    return emulator::copy_text(state.node().driver, version, length);
  });
}

Return nvmlSystemGetNVMLVersion(char* version, unsigned length) {
  return emulator::on_node("nvmlSystemGetNVMLVersion", [&](StateFile& state) {
    const emulator::NodeState node = state.node();
    const std::string_view driver = node.driver;
    return emulator::copy_text(cat(api_major(driver), ".", driver), version, length);
  });
}

Return nvmlSystemGetCudaDriverVersion(int* version) {
  return emulator::on_node("nvmlSystemGetCudaDriverVersion", [&](StateFile& state) {
    const bool old = api_major(state.node().driver) == 12;
    return emulator::write_result(version, old ? 12080 : 13000);
  });
}

Return nvmlSystemGetCudaDriverVersion_v2(int* version) {
  return nvmlSystemGetCudaDriverVersion(version);
}

Return nvmlSystemGetProcessName(unsigned pid, char* name, unsigned length) {
  return emulator::on_node("nvmlSystemGetProcessName", [&](StateFile&) {
    if (name == nullptr || length == 0) return kInvalidArgument;
    const int fd = open(cat("/proc/", pid, "/cmdline").c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return kNotFound;
    const ssize_t size = read(fd, name, length - 1);  // arguments end with zeros: the first only
    close(fd);
    if (size < 0) return kNoPermission;
    name[size] = '\0';
    return kSuccess;
  });
}

Return nvmlDeviceGetCount_v2(unsigned* count) {
  return emulator::on_node("nvmlDeviceGetCount", [&](StateFile& state) {
    return emulator::write_result(count, state.gpu_count());
  });
}
Return nvmlDeviceGetCount(unsigned* count) { return nvmlDeviceGetCount_v2(count); }

Return nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* device) {
  return handle_by_index("nvmlDeviceGetHandleByIndex", index, device);
}
Return nvmlDeviceGetHandleByIndex(unsigned index, Device* device) {
  return handle_by_index("nvmlDeviceGetHandleByIndex", index, device);
}

Return nvmlDeviceGetHandleByUUID(const char* uuid, Device* device) {
  return emulator::on_node("nvmlDeviceGetHandleByUUID", [&](StateFile& state) {
    if (uuid == nullptr || device == nullptr) return kInvalidArgument;
    return find_uuid(state, uuid, device);
  });
}

Return nvmlDeviceGetHandleByUUIDV(const Uuid* uuid, Device* device) {
  return emulator::on_node("nvmlDeviceGetHandleByUUIDV", [&](StateFile& state) {
    if (uuid == nullptr || device == nullptr) return kInvalidArgument;
    if (uuid->version != version_of<Uuid>(1)) return kArgumentVersionMismatch;
    if (uuid->type == 1) {
      const std::size_t length = strnlen(uuid->value, sizeof uuid->value);
      return find_uuid(state, std::string_view(uuid->value, length), device);
    }
    if (uuid->type != 2) return kInvalidArgument;
    emulator::UuidBytes bytes{};
    std::memcpy(bytes.data(), uuid->value, bytes.size());
    const Return gpu = find_uuid(state, emulator::uuid_text("GPU-", bytes), device);
    return gpu == kNotFound ? find_uuid(state, emulator::uuid_text("MIG-", bytes), device) : gpu;
  });
}

Return nvmlDeviceGetHandleByPciBusId_v2(const char* id, Device* device) {
  return handle_by_bus("nvmlDeviceGetHandleByPciBusId", id, device);
}
Return nvmlDeviceGetHandleByPciBusId(const char* id, Device* device) {
  return handle_by_bus("nvmlDeviceGetHandleByPciBusId", id, device);
}

Return nvmlDeviceGetHandleBySerial(const char* serial, Device* device) {
  return emulator::on_node("nvmlDeviceGetHandleBySerial", [&](StateFile& state) {
    if (serial == nullptr || device == nullptr) return kInvalidArgument;
    for (unsigned i = 0; i < state.gpu_count(); ++i) {
      if (emulator::serial_of(i) == serial) return give_gpu(state, i, device);
    }
    return kNotFound;
  });
}

Return nvmlUnitGetCount(unsigned* count) {
  return emulator::on_node("nvmlUnitGetCount",
                           [&](StateFile&) { return emulator::write_result(count, 0U); });
}
Return nvmlGetExcludedDeviceCount(unsigned* count) {
  return emulator::on_node("nvmlGetExcludedDeviceCount",
                           [&](StateFile&) { return emulator::write_result(count, 0U); });
}
}

}  // namespace tangram::nvml
