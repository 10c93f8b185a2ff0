// Views: how jobs, GPUs and the node are presented to clients, from the engine's rows, the
// scheduler's state and the hardware. Reads only; callers check who may see what.
// Used on the loop only.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/job.hpp"
#include "api/node.hpp"
#include "daemon/engine/engine.hpp"

namespace tangram::device {
struct Gpu;
}

namespace tangram::daemon {

class Hardware;
class Supervisor;

class Views {
 public:
  Views(const Engine& engine, const Hardware& hardware, const Supervisor& supervisor, bool emulated)
      : engine_(engine), hardware_(hardware), supervisor_(supervisor), emulated_(emulated) {}

  // The keys that the configuration file sets; status() names what differs from them.
  void set_tuning_in_file(const api::TuningChange& tuning) { tuning_in_file_ = tuning; }

  // The part of a job that every user may see. `may_read`: include its labels and the full reason
  // of its state, which may name its command or folders.
  [[nodiscard]] api::JobView outline(const store::JobRow& row, bool may_read) const;
  // The number of jobs ahead, by queued job.
  using Queue = std::unordered_map<std::uint64_t, std::size_t>;
  [[nodiscard]] Queue queue() const;
  // Why a queued job is waiting, in a few words; `queue` is from queue(). ExplainService has the
  // full answer.
  [[nodiscard]] std::string why_waiting(const store::JobRow& row, bool may_read,
                                        const Queue& queue) const;
  // Why a queued or held job of this profile cannot use some GPUs: their MIG mode is off. Empty if
  // there are none.
  [[nodiscard]] std::string mig_note(const std::string& profile) const;
  [[nodiscard]] bool is_mig_off(core::GpuId gpu) const;
  // The GPUs whose MIG mode is off: "GPU 0: " and what to do.
  [[nodiscard]] std::vector<std::string> mig_troubles() const;
  // The GPUs that the driver lists, and as lost those that it listed earlier.
  [[nodiscard]] std::vector<api::GpuView> gpus() const;
  // True if the driver no longer lists the GPU and an admin has cordoned it: no alert is needed.
  [[nodiscard]] bool is_retired(core::GpuId id, const std::string& uuid) const;
  // Of each profile, how many instances could still be created, each at its best start, and how
  // many jobs would start now.
  [[nodiscard]] std::vector<api::ProfileView> profiles() const;
  [[nodiscard]] api::StatusView status() const;

 private:
  [[nodiscard]] api::GpuView view(core::GpuId id) const;
  [[nodiscard]] api::GpuView view(const device::Gpu& gpu) const;
  [[nodiscard]] api::GpuView view(const store::GpuRow& missing) const;
  [[nodiscard]] bool is_listed(const std::string& uuid) const;  // by the driver
  [[nodiscard]] std::vector<store::GpuRow> missing_gpus() const;

  const Engine& engine_;
  const Hardware& hardware_;
  const Supervisor& supervisor_;
  bool emulated_;
  api::TuningChange tuning_in_file_;
  api::WallTime since_ = Clock::wall();
};

}  // namespace tangram::daemon
