// Views: how jobs, GPUs and the node look to callers, put together from the engine's records, the
// scheduler's state and what the hardware says. One rule: it only looks; whether a caller may see
// it is somebody else's question.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/job.hpp"
#include "api/node.hpp"
#include "daemon/engine.hpp"

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

  // What everybody may see of a job. Why it failed may name its command or its folders: that is for
  // those who may read it.
  [[nodiscard]] api::JobView outline(const store::JobRow& row, bool may_read) const;
  // Why a queued job is not running, as far as the queue itself says.
  using Queue = std::unordered_map<std::uint64_t, std::size_t>;
  // How many are ahead of each who waits. For a list it is asked for once.
  [[nodiscard]] Queue queue() const;
  [[nodiscard]] std::string why_waiting(const store::JobRow& row, bool may_read,
                                        const Queue& queue) const;
  // Those that the driver lists, and those that it once did: they are lost, which has to be seen.
  [[nodiscard]] std::vector<api::GpuView> gpus() const;
  // Not there any more, and cordoned by a person: nobody needs to be told again.
  [[nodiscard]] bool is_given_up(core::GpuId id, const std::string& uuid) const;
  // How many of each profile would fit, one after the other, each at its best start; and start.
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
  api::WallTime since_ = Clock::wall();
};

}  // namespace tangram::daemon
