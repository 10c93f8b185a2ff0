// The emulator's own doors (nvml/control.hpp).
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

// Runs on the node, which must be ours to change.
template <class Work>
Return with_node(const Work& work) {
  const auto state = emulator::control_state();
  if (!state) return fail(kDriverNotLoaded, state.error().message);
  if (!(*state)->writable()) {
    return fail(kNoPermission, cat("you may not write ", tangram::quoted((*state)->path()),
                                   ", the state of the emulated node."));
  }
  return work(**state);
}

template <class Work>
Return with_gpu(unsigned gpu, const Work& work) {
  return with_node([&](StateFile& state) {
    if (gpu >= state.gpu_count()) {
      return fail(kInvalidArgument, cat("there is no emulated GPU ", gpu, "; there are ",
                                        state.gpu_count(), ", counted from 0."));
    }
    return work(state);
  });
}

// A place by UUID: a whole GPU or a MIG device.
struct Place {
  unsigned gpu = 0;
  std::uint32_t gi = emulator::kWholeGpu;
  std::uint32_t ci = emulator::kWholeGpu;
};

std::optional<Place> find_place(StateFile& state, std::string_view uuid) {
  for (unsigned i = 0; i < state.gpu_count(); ++i) {
    const GpuState gpu = state.gpu(i);
    if (uuid == emulator::uuid_of(gpu)) return Place{.gpu = i};
    for (const emulator::MigDevice mig : emulator::mig_devices(gpu)) {
      if (uuid == emulator::uuid_of(gpu, mig)) return Place{i, mig.gi, mig.ci};
    }
  }
  return std::nullopt;
}

template <class Work>
Return with_place(const char* uuid, const Work& work) {
  return with_node([&](StateFile& state) {
    const auto place = uuid == nullptr ? std::nullopt : find_place(state, uuid);
    if (!place) {
      return fail(kNotFound, cat("no emulated GPU or MIG device has the UUID ",
                                 tangram::quoted(uuid == nullptr ? "" : uuid), "."));
    }
    return work(state, *place);
  });
}

// The instance may have gone since it was found.
bool still_there(const GpuState& gpu, const Place& place) {
  return place.gi == emulator::kWholeGpu ||
         (gpu.gis[place.gi].used != 0 && gpu.gis[place.gi].cis[place.ci].used != 0);
}

}  // namespace

extern "C" {

const char* tangramEmulatorError(void) { return last_error().c_str(); }

Return tangramEmulatorStatus(char* buffer, unsigned* length) {
  const auto state = emulator::control_state();
  if (!state) return fail(kDriverNotLoaded, state.error().message);
  if (length == nullptr) return fail(kInvalidArgument, "there is no length to write to.");
  const std::string text = emulator::status_json(**state);
  const unsigned room = *length;
  *length = static_cast<unsigned>(text.size() + 1);
  if (buffer == nullptr) return kSuccess;
  if (room <= text.size()) return fail(kInsufficientSize, "the buffer is too short.");
  return emulator::give_text(text, buffer, room);
}

Return tangramEmulatorReset(const char* description) {
  const auto asked = description != nullptr ? std::string(description) : emulator::wanted_node();
  const auto path = emulator::state_path();
  auto state = StateFile::open(path, nullptr);  // whatever it was made for
  if (!state && (state.error().code != ErrorCode::kNotFound || asked.empty())) {
    return fail(kDriverNotLoaded, state.error().message);
  }
  const auto spec = asked.empty() ? emulator::parse_description((*state)->description())
                                  : emulator::read_node(asked);
  if (!spec) return fail(kInvalidArgument, spec.error().message);
  if (!state) state = StateFile::open(path, &*spec);
  if (!state) return fail(kDriverNotLoaded, state.error().message);
  if (!(*state)->writable()) return fail(kNoPermission, "the state file is not yours to write.");
  (*state)->reset(*spec);
  return kSuccess;
}

Return tangramEmulatorReboot(void) {
  return with_node([](StateFile& state) {
    state.for_all_gpus([](GpuState& gpu) { emulator::reboot(gpu); });
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
      return fail(result,
                  "the GPU has fallen off the bus; `tangram emulate reboot` brings it back.");
    }
    return result == kSuccess ? kSuccess : fail(result, "a process is on the GPU.");
  });
}

Return tangramEmulatorFault(const char* text, int gpu, unsigned times, unsigned percent) {
  const auto parsed = emulator::parse_fault(text == nullptr ? "" : text);
  if (!parsed) return fail(kInvalidArgument, parsed.error().message);
  if (percent < 1 || percent > 100) {
    return fail(kInvalidArgument, "the chance of a fault is 1 to 100 percent.");
  }
  return with_node([&](StateFile& state) {
    if (gpu < -1 || gpu >= static_cast<int>(state.gpu_count())) {
      return fail(kInvalidArgument, cat("there is no emulated GPU ", gpu, "; -1 is all of them."));
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
                 : fail(kInsufficientResources, cat("there are ", emulator::kMostFaults,
                                                    " faults already; clear some first."));
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
    return fail(result, cat("the emulated driver said ", emulator::error_name(result), "."));
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
    return fail(result, cat("there is no ", profile, " at ", start, " on GPU ", gpu, "."));
  });
}

Return tangramEmulatorRegister(const char* uuid, unsigned pid, unsigned long long memory_bytes) {
  return with_place(uuid, [&](StateFile& state, const Place& place) {
    emulator::ProcessState process{.pid = pid, .gi = place.gi, .ci = place.ci};
    process.started = emulator::start_time(pid);
    process.memory_bytes = memory_bytes;
    if (process.started == 0) return fail(kNotFound, cat("there is no process ", pid, "."));
    Return result = kSuccess;
    state.change_gpu(place.gpu, [&](GpuState& gpu) {
      if (!still_there(gpu, place)) return (result = kNotFound) == kSuccess;
      if (!emulator::add_process(gpu, process)) result = kInsufficientResources;
      return result == kSuccess;
    });
    if (result == kNotFound) return fail(result, "the instance has just been destroyed.");
    if (result != kSuccess) {
      return fail(result, cat("a GPU keeps at most ", emulator::kMostProcesses, " processes."));
    }
    return kSuccess;
  });
}

Return tangramEmulatorUnregister(const char* uuid, unsigned pid) {
  return with_place(uuid, [&](StateFile& state, const Place& place) {
    const bool removed = state.change_gpu(place.gpu, [&](GpuState& gpu) {
      return emulator::remove_process(gpu, pid, place.gi, place.ci);
    });
    return removed ? kSuccess : fail(kNotFound, cat("process ", pid, " is not registered there."));
  });
}

Return tangramEmulatorDemand(const char* uuid, unsigned pid, unsigned to_gpu_kbps,
                             unsigned from_gpu_kbps) {
  return with_place(uuid, [&](StateFile& state, const Place& place) {
    emulator::FlowState flow{.pid = pid, .gi = place.gi, .ci = place.ci};
    flow.started = emulator::start_time(pid);
    flow.to_gpu_kbps = to_gpu_kbps;
    flow.from_gpu_kbps = from_gpu_kbps;
    if (flow.started == 0) return fail(kNotFound, cat("there is no process ", pid, "."));
    Return result = kSuccess;
    state.change_gpu(place.gpu, [&](GpuState& gpu) {
      if (!still_there(gpu, place)) return (result = kNotFound) == kSuccess;
      if (!emulator::set_flow(gpu, flow)) result = kInsufficientResources;
      return result == kSuccess;
    });
    if (result == kNotFound) return fail(result, "the instance has just been destroyed.");
    return result == kSuccess
               ? kSuccess
               : fail(result, cat("a link keeps at most ", emulator::kMostFlows, " flows."));
  });
}

Return tangramEmulatorShare(const char* uuid, unsigned pid, unsigned* to_gpu_kbps,
                            unsigned* from_gpu_kbps) {
  return with_place(uuid, [&](StateFile& state, const Place& place) {
    if (to_gpu_kbps == nullptr || from_gpu_kbps == nullptr) {
      return fail(kInvalidArgument, "there is nowhere to write the shares to.");
    }
    const GpuState gpu = state.gpu(place.gpu);
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
      if (flows[i].pid != pid || flows[i].gi != place.gi || flows[i].ci != place.ci) continue;
      *to_gpu_kbps = to_shares[i];
      *from_gpu_kbps = from_shares[i];
      return kSuccess;
    }
    return fail(kNotFound, cat("process ", pid, " has asked for nothing on this link."));
  });
}
}

}  // namespace tangram::nvml
