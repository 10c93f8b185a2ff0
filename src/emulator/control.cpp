// The emulator's control functions (nvml/control.hpp).
#include "nvml/control.hpp"

#include <string>

#include "base/text.hpp"
#include "emulator/call.hpp"
#include "emulator/identity.hpp"
#include "emulator/processes.hpp"
#include "emulator/status.hpp"

namespace tangram::nvml {
namespace {

using emulator::GpuState;
using emulator::StateFile;

std::string& last_error() {
  thread_local std::string text;
  return text;
}

Return fail(Return code, std::string why) {
  last_error() = std::move(why);
  return code;
}

// Runs `work` on the node, which must be writable.
template <class Work>
Return with_node(const Work& work) {
  const auto state = emulator::control_state();
  if (!state) return fail(kDriverNotLoaded, state.error().message);
  if (!(*state)->writable()) {
    return fail(kNoPermission, cat("no write permission on ", tangram::quoted((*state)->path()),
                                   ", the state file of the emulated node."));
  }
  return work(**state);
}

template <class Work>
Return with_gpu(unsigned gpu, const Work& work) {
  return with_node([&](StateFile& state) {
    if (gpu >= state.gpu_count()) {
      return fail(kInvalidArgument, cat("emulated GPU ", gpu, ": not found; the node has ",
                                        state.gpu_count(), ", numbered from 0."));
    }
    return work(state);
  });
}

// A whole GPU or a MIG device.
struct DeviceRef {
  unsigned gpu = 0;
  std::uint32_t gi = emulator::kWholeGpu;
  std::uint32_t ci = emulator::kWholeGpu;
};

std::optional<DeviceRef> find_device(StateFile& state, std::string_view uuid) {
  for (unsigned i = 0; i < state.gpu_count(); ++i) {
    const GpuState gpu = state.gpu(i);
    if (uuid == emulator::uuid_of(gpu)) return DeviceRef{.gpu = i};
    for (const emulator::MigDevice mig : emulator::mig_devices(gpu)) {
      if (uuid == emulator::uuid_of(gpu, mig)) return DeviceRef{i, mig.gi, mig.ci};
    }
  }
  return std::nullopt;
}

template <class Work>
Return with_device(const char* uuid, const Work& work) {
  return with_node([&](StateFile& state) {
    const auto device = uuid == nullptr ? std::nullopt : find_device(state, uuid);
    if (!device) {
      return fail(kNotFound, cat("UUID ", tangram::quoted(uuid == nullptr ? "" : uuid),
                                 ": no such emulated GPU or MIG device."));
    }
    return work(state, *device);
  });
}

// The instance may have been destroyed since it was found.
bool device_exists(const GpuState& gpu, const DeviceRef& device) {
  return device.gi == emulator::kWholeGpu ||
         (gpu.gis[device.gi].used != 0 && gpu.gis[device.gi].cis[device.ci].used != 0);
}

}  // namespace

extern "C" {

const char* tangramEmulatorError(void) { return last_error().c_str(); }

Return tangramEmulatorStatus(char* buffer, unsigned* length) {
  const auto state = emulator::control_state();
  if (!state) return fail(kDriverNotLoaded, state.error().message);
  if (length == nullptr) return fail(kInvalidArgument, "`length` must not be null.");
  const std::string text = emulator::status_json(**state);
  const unsigned capacity = *length;
  *length = static_cast<unsigned>(text.size() + 1);
  if (buffer == nullptr) return kSuccess;
  if (capacity <= text.size()) return fail(kInsufficientSize, "the buffer is too short.");
  return emulator::copy_text(text, buffer, capacity);
}

Return tangramEmulatorReset(const char* description) {
  const auto wanted =
      description != nullptr ? std::string(description) : emulator::node_from_environment();
  const auto path = emulator::state_path();
  auto state = StateFile::open(path, nullptr);  // of any description
  if (!state && (state.error().code != ErrorCode::kNotFound || wanted.empty())) {
    return fail(kDriverNotLoaded, state.error().message);
  }
  const auto spec = wanted.empty() ? emulator::parse_description((*state)->description())
                                   : emulator::read_node(wanted);
  if (!spec) return fail(kInvalidArgument, spec.error().message);
  if (!state) state = StateFile::open(path, &*spec);
  if (!state) return fail(kDriverNotLoaded, state.error().message);
  if (!(*state)->writable()) return fail(kNoPermission, "no write permission on the state file.");
  (*state)->reset(*spec);
  return kSuccess;
}

Return tangramEmulatorReboot(void) {
  return with_node([](StateFile& state) {
    state.change_all_gpus([](GpuState& gpu) { emulator::reboot(gpu); });
    return kSuccess;
  });
}

Return tangramEmulatorResetGpu(unsigned gpu) {
  return with_gpu(gpu, [&](StateFile& state) {
    Return result = kSuccess;
    state.change_gpu(gpu, [&](GpuState& g) {
      if (g.lost != 0) return (result = kGpuIsLost) == kSuccess;
      if (emulator::has_live_process(g)) return (result = kInUse) == kSuccess;
      emulator::reset_gpu(g);
      return true;
    });
    if (result == kGpuIsLost) {
      return fail(result, "the GPU has fallen off the bus; run `tangram emulate reboot`.");
    }
    return result == kSuccess ? kSuccess : fail(result, "a process is using the GPU.");
  });
}

Return tangramEmulatorFault(const char* text, int gpu, unsigned times, unsigned percent) {
  const auto parsed = emulator::parse_fault(text == nullptr ? "" : text);
  if (!parsed) return fail(kInvalidArgument, parsed.error().message);
  if (percent < 1 || percent > 100) {
    return fail(kInvalidArgument, "invalid percent; use 1 to 100.");
  }
  return with_node([&](StateFile& state) {
    if (gpu < -1 || gpu >= static_cast<int>(state.gpu_count())) {
      return fail(kInvalidArgument, cat("emulated GPU ", gpu, ": not found; -1 means all."));
    }
    const bool added = state.change_faults([&](emulator::FaultsState& all) {
      for (emulator::FaultState& fault : all.faults) {
        if (fault.kind != emulator::FaultKind::kNone) continue;
        fault = *parsed;
        fault.gpu = gpu < 0 ? -1 : gpu;
        fault.times = times;
        fault.percent = percent;
        return true;
      }
      return false;
    });
    return added ? kSuccess
                 : fail(kInsufficientResources, cat("limit of ", emulator::kMaxFaults,
                                                    " faults reached; clear some first."));
  });
}

Return tangramEmulatorClearFaults(void) {
  return with_node([](StateFile& state) {
    state.change_faults([](emulator::FaultsState& all) {
      for (emulator::FaultState& fault : all.faults) fault = emulator::FaultState{};
      return true;
    });
    return kSuccess;
  });
}

Return tangramEmulatorXid(unsigned gpu, unsigned long long xid, unsigned gi, unsigned ci) {
  return with_gpu(gpu, [&](StateFile& state) {
    state.change_gpu(gpu, [&](GpuState& g) {
      emulator::add_event(g, {kEventXid, xid, gi, ci});
      return true;
    });
    return kSuccess;
  });
}

Return tangramEmulatorFallOff(unsigned gpu) {
  constexpr unsigned long long kFallenOff = 79;  // the Xid that drivers report
  return with_gpu(gpu, [&](StateFile& state) {
    state.change_gpu(gpu, [&](GpuState& g) {
      emulator::add_event(g, {.type = kEventXid, .data = kFallenOff});
      g.lost = 1;
      return true;
    });
    return kSuccess;
  });
}

Return tangramEmulatorForeign(unsigned gpu, const char* profile, unsigned start) {
  return with_gpu(gpu, [&](StateFile& state) {
    const emulator::Board& board = emulator::board_of(state.gpu(gpu));
    const auto found = board.model->find_profile(profile == nullptr ? "" : profile);
    if (!found) return fail(kInvalidArgument, found.error().message);
    Return result = kSuccess;
    state.change_gpu(gpu, [&](GpuState& g) {
      unsigned gi = 0;
      unsigned ci = 0;
      result = emulator::create_gi(g, *found, start, gi);
      if (result != kSuccess) return false;
      result = emulator::create_ci(g, gi, board.ci_profiles_of(*found).back(), {}, ci);
      return result == kSuccess;
    });
    if (result == kSuccess) return kSuccess;
    return fail(result, cat("the emulated driver returned ", emulator::error_name(result), "."));
  });
}

Return tangramEmulatorVanish(unsigned gpu, const char* profile, unsigned start) {
  return with_gpu(gpu, [&](StateFile& state) {
    const emulator::Board& board = emulator::board_of(state.gpu(gpu));
    const auto found = board.model->find_profile(profile == nullptr ? "" : profile);
    if (!found) return fail(kInvalidArgument, found.error().message);
    const mig::Placement placement{*found, static_cast<std::uint8_t>(start)};
    Return result = kSuccess;
    state.change_gpu(gpu, [&](GpuState& g) {
      result = emulator::remove_gi(g, placement);
      return result == kSuccess;
    });
    if (result == kSuccess) return kSuccess;
    return fail(result, cat(profile, "@", start, " on GPU ", gpu, ": not found."));
  });
}

Return tangramEmulatorRegister(const char* uuid, unsigned pid, unsigned long long memory_bytes) {
  return with_device(uuid, [&](StateFile& state, const DeviceRef& device) {
    emulator::ProcessState process{.pid = pid, .gi = device.gi, .ci = device.ci};
    process.started = emulator::start_time(pid);
    process.memory_bytes = memory_bytes;
    if (process.started == 0) return fail(kNotFound, cat("process ", pid, ": not found."));
    Return result = kSuccess;
    state.change_gpu(device.gpu, [&](GpuState& gpu) {
      if (!device_exists(gpu, device)) return (result = kNotFound) == kSuccess;
      if (!emulator::add_process(gpu, process)) result = kInsufficientResources;
      return result == kSuccess;
    });
    if (result == kNotFound) return fail(result, "the instance has just been destroyed.");
    if (result != kSuccess) {
      return fail(result, cat("limit of ", emulator::kMaxProcesses, " processes per GPU reached."));
    }
    return kSuccess;
  });
}

Return tangramEmulatorUnregister(const char* uuid, unsigned pid) {
  return with_device(uuid, [&](StateFile& state, const DeviceRef& device) {
    const bool removed = state.change_gpu(device.gpu, [&](GpuState& gpu) {
      return emulator::remove_process(gpu, pid, device.gi, device.ci);
    });
    return removed ? kSuccess : fail(kNotFound, cat("process ", pid, " is not registered there."));
  });
}

Return tangramEmulatorDemand(const char* uuid, unsigned pid, unsigned to_gpu_kbps,
                             unsigned from_gpu_kbps) {
  return with_device(uuid, [&](StateFile& state, const DeviceRef& device) {
    emulator::FlowState flow{.pid = pid, .gi = device.gi, .ci = device.ci};
    flow.started = emulator::start_time(pid);
    flow.to_gpu_kbps = to_gpu_kbps;
    flow.from_gpu_kbps = from_gpu_kbps;
    if (flow.started == 0) return fail(kNotFound, cat("process ", pid, ": not found."));
    Return result = kSuccess;
    state.change_gpu(device.gpu, [&](GpuState& gpu) {
      if (!device_exists(gpu, device)) return (result = kNotFound) == kSuccess;
      if (!emulator::set_flow(gpu, flow)) result = kInsufficientResources;
      return result == kSuccess;
    });
    if (result == kNotFound) return fail(result, "the instance has just been destroyed.");
    return result == kSuccess
               ? kSuccess
               : fail(result, cat("limit of ", emulator::kMaxFlows, " flows per link reached."));
  });
}

Return tangramEmulatorShare(const char* uuid, unsigned pid, unsigned* to_gpu_kbps,
                            unsigned* from_gpu_kbps) {
  return with_device(uuid, [&](StateFile& state, const DeviceRef& device) {
    if (to_gpu_kbps == nullptr || from_gpu_kbps == nullptr) {
      return fail(kInvalidArgument, "the pointers for the shares must not be null.");
    }
    const GpuState gpu = state.gpu(device.gpu);
    const auto flows = emulator::live_flows(gpu);
    std::vector<std::uint32_t> to;
    std::vector<std::uint32_t> from;
    for (const emulator::FlowState& f : flows) {
      to.push_back(f.to_gpu_kbps);
      from.push_back(f.from_gpu_kbps);
    }
    const auto to_shares = emulator::fair_shares(to, gpu.link_kbps, gpu.flow_kbps);
    const auto from_shares = emulator::fair_shares(from, gpu.link_kbps, gpu.flow_kbps);
    for (std::size_t i = 0; i < flows.size(); ++i) {
      if (flows[i].pid != pid || flows[i].gi != device.gi || flows[i].ci != device.ci) continue;
      *to_gpu_kbps = to_shares[i];
      *from_gpu_kbps = from_shares[i];
      return kSuccess;
    }
    return fail(kNotFound, cat("process ", pid, " has no demand on this link."));
  });
}
}

}  // namespace tangram::nvml
