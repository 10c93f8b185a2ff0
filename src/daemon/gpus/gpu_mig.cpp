// See hardware.hpp: MIG mode. A GPU on which it is off is out of service: for the scheduler it is
// lost. It is switched on again where the configuration allows it and no process uses the GPU: at
// start, and from then on until it has been on. Who switches it off while the daemon runs wants it
// off, and so does who has cordoned the GPU.
#include <algorithm>
#include <chrono>

#include <spdlog/spdlog.h>

#include "base/text.hpp"
#include "daemon/gpus/hardware.hpp"
#include "daemon/gpus/poll_state.hpp"
#include "device/gpus.hpp"
#include "device/prepare.hpp"

namespace tangram::daemon {
namespace {

constexpr std::chrono::seconds kAttemptInterval{60};

}  // namespace

std::string switch_mig_on(const device::Library& library, device::Gpu& gpu) {
  const auto prepared = device::prepare_unused(library, gpu);
  if (auto again = device::read_gpu(library, gpu.uuid)) gpu = *std::move(again);
  if (!prepared) {
    spdlog::error("cannot switch MIG mode on: {}", prepared.error().error.message);
    return prepared.error().error.message;
  }
  if (prepared->next.empty()) {
    spdlog::info("switched MIG mode on on GPU {} ({})", gpu.index, gpu.uuid);
    return "";
  }
  spdlog::warn("GPU {}: {}", gpu.index, prepared->next);
  // All users may read it, so it does not name the processes.
  return prepared->holders.empty() ? prepared->next
                                   : "processes use it; the daemon's log names them.";
}

bool Hardware::may_switch_mig(const device::Gpu& gpu) const {
  const bool helps = gpu.mig == device::MigMode::kOff || (is_mig_off(gpu) && gpu.resetless);
  if (!helps || gpu.health != device::Health::kOk) return false;
  bool is_managed = false;
  for (const auto& [number, row] : engine_.records().gpus()) {
    if (row.uuid != gpu.uuid || number >= engine_.scheduler().node().gpu_count()) continue;
    if (engine_.scheduler().node().gpu(core::GpuId(number)).cordoned) return false;
    is_managed = true;
  }
  if (options_.enable_mig_all || options_.mig_gpus.contains(gpu.uuid)) return true;
  return options_.enable_mig_managed && is_managed && gpu.resetless;
}

void Hardware::switch_mig_on_at_start() {
  for (device::Gpu& gpu : gpus_) {
    std::string failure;
    if (may_switch_mig(gpu)) {
      failure = switch_mig_on(*library_, gpu);
      poll_state_->of(gpu.uuid, loop_).next_mig_attempt =
          std::chrono::steady_clock::now() + kAttemptInterval;
    }
    note_mig_mode(gpu, failure);
  }
}

// Whether the next poll of the GPU is to switch MIG mode on.
bool Hardware::is_mig_attempt_due(const std::string& uuid) {
  const device::Gpu* gpu = find(uuid);
  if (gpu == nullptr || !may_switch_mig(*gpu)) return false;
  PollState::GpuPoll& state = poll_state_->of(uuid, loop_);
  const auto now = std::chrono::steady_clock::now();
  if (state.had_mig || now < state.next_mig_attempt) return false;
  state.next_mig_attempt = now + kAttemptInterval;
  return true;
}

// Sets what is reported of a GPU whose MIG mode is off. `failure`: why it was not switched on just
// now; empty if that was not tried, then the last one is kept.
void Hardware::note_mig_mode(device::Gpu& gpu, const std::string& failure) {
  if (gpu.uuid.empty()) return;
  PollState::GpuPoll& state = poll_state_->of(gpu.uuid, loop_);
  if (is_mig_on(gpu)) {
    state.had_mig = true;
    state.mig_failure.clear();
  }
  if (!is_mig_off(gpu)) return;
  if (!failure.empty()) state.mig_failure = failure;
  gpu.trouble = device::mig_instruction(gpu);
  if (!state.mig_failure.empty()) {
    gpu.trouble += cat(" tangramd has not switched it on: ", state.mig_failure);
  }
}

// Every job on the GPU has lost its instance; queued jobs wait until MIG mode is on.
void Hardware::take_out_of_service(core::GpuId id) { set_health(id, core::Health::kLost, kMigOff); }

}  // namespace tangram::daemon
