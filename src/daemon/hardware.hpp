// Hardware: the node's GPUs as the daemon drives them. It turns CreateInstance and DestroyInstance
// into changes by the device room's workers, and what the driver tells or shows (instances of
// others, processes nobody knows, Xids, GPUs that are gone, late or back) into events. One rule: an
// instance is the scheduler's by its InstanceId here and the driver's by its place; the map between
// the two is here, and nothing else of the daemon sees the driver.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "core/action.hpp"
#include "core/ids.hpp"
#include "daemon/engine.hpp"
#include "device/counters.hpp"
#include "device/device.hpp"
#include "device/events.hpp"
#include "device/library.hpp"
#include "device/owned.hpp"
#include "device/workers.hpp"

namespace boost::asio {
class io_context;
}

namespace tangram::daemon {

struct HardwareOptions {
  std::string library;     // path of libnvidia-ml.so.1
  std::string owned_file;  // which instances are ours
  bool emulated = false;
  bool enable_mig = false;  // switch MIG mode on where it is off
  std::chrono::milliseconds change_time{60'000};
  std::chrono::milliseconds in_use_time{10'000};
  std::chrono::milliseconds observe_every{10'000};
  std::set<std::uint64_t> fatal_xids;
};

// The fact that says whether it was an Xid that cordoned the GPU: a reboot undoes only that.
[[nodiscard]] inline std::string xid_cordon(core::GpuId gpu) {
  return "xid-cordon-" + std::to_string(gpu.value());
}

// A GPU with what stands on it, seen at one moment.
struct Sight {
  device::Gpu gpu;
  std::optional<std::vector<device::Instance>> instances;  // none: could not look
  std::vector<device::Process> processes;
  std::string trouble;
};

class Hardware {
 public:
  // Loads the library and lists the GPUs; nothing is changed but MIG mode, if that is asked for.
  [[nodiscard]] static Result<std::unique_ptr<Hardware>> open(boost::asio::io_context& loop,
                                                              Engine& engine,
                                                              HardwareOptions options);
  ~Hardware();
  Hardware(const Hardware&) = delete;
  Hardware& operator=(const Hardware&) = delete;
  Hardware(Hardware&&) = delete;
  Hardware& operator=(Hardware&&) = delete;

  // Makes the scheduler's picture and the driver's agree; see reconcile.cpp. `rebooted`: nothing
  // that was there before can be there now. Before anything else is asked of it.
  void agree(bool rebooted);

  void create(const core::CreateInstance& wanted);
  void destroy(const core::DestroyInstance& wanted);

  // Looks at every GPU, off the loop, and again and again from now on.
  void watch();
  // A run has ended: what was seen of its GPU before does not count.
  void run_ended(core::GpuId gpu) { ++changes_begun_[gpu.value()]; }
  void set_fatal_xids(std::set<std::uint64_t> xids) { options_.fatal_xids = std::move(xids); }

  [[nodiscard]] const std::vector<device::Gpu>& gpus() const { return gpus_; }
  // None of the instances that the scheduler holds stands.
  [[nodiscard]] bool has_nothing() const;
  [[nodiscard]] const std::string& driver() const { return driver_; }
  [[nodiscard]] std::vector<device::ErrorCount> errors() const { return library_->errors(); }
  [[nodiscard]] std::map<std::string, std::uint64_t> error_totals() const {
    return library_->error_totals();
  }
  // As last measured, if the GPU has such a counter.
  [[nodiscard]] std::optional<device::PcieThroughput> throughput(const std::string& uuid) const;
  [[nodiscard]] std::optional<core::GpuId> id_of(const std::string& uuid) const;
  [[nodiscard]] std::string uuid_of(core::GpuId gpu) const;

  // Of an instance that the scheduler has: whether it is there.
  [[nodiscard]] bool stands(core::InstanceId instance) const {
    return instances_.contains(instance.value());
  }
  // As the driver has it; null if it is not there.
  [[nodiscard]] const device::Instance* instance(core::InstanceId instance) const {
    const auto at = instances_.find(instance.value());
    return at == instances_.end() ? nullptr : &at->second;
  }
  // N of /dev/nvidiaN; none of a GPU that cannot be asked.
  [[nodiscard]] std::optional<unsigned> minor_of(core::GpuId gpu) const {
    const device::Gpu* known = find(uuid_of(gpu));
    if (known == nullptr || known->health != device::Health::kOk) return std::nullopt;
    return known->minor;
  }
  // The processes in it, looked up off the loop; none: could not look.
  void occupants(core::GpuId gpu, core::InstanceId instance,
                 const std::function<void(const std::optional<std::vector<unsigned>>&)>& told);

  // The emulated node only: the process is seen on the instance, as a CUDA process would be.
  void register_process(const std::string& mig_uuid, int pid);

  // Told when a GPU is lost, so that what runs there is ended.
  std::function<void(core::GpuId)> on_lost;
  // The same when somebody removed the instance that a job holds.
  std::function<void(core::InstanceId)> on_gone;

 private:
  Hardware(boost::asio::io_context& loop, Engine& engine, HardwareOptions options);
  struct Threads;
  struct Pending {  // a change whose result is not known yet
    std::variant<core::CreateInstance, core::DestroyInstance> wanted;
  };

  [[nodiscard]] Result<void> begin();
  void switch_mig_on();
  void add_gpu(const device::Gpu& gpu, const std::vector<device::Instance>& present);
  void agree_on(core::GpuId id, const device::Gpu& gpu, bool rebooted);
  void agree_on_entry(core::GpuId id, const device::Gpu& gpu, const core::Entry& entry,
                      const std::vector<device::Instance>& present);
  void forget_vanished(core::GpuId id, const mig::Placement& placement);

  void created(const core::CreateInstance& wanted, device::Outcome<device::Instance> outcome);
  void destroyed(const core::DestroyInstance& wanted, device::Outcome<void> outcome);
  void reconciled(const device::Reconciled& what);
  void settle(const core::CreateInstance& wanted, const std::vector<device::Instance>& present);
  void settle(const core::DestroyInstance& wanted, const std::vector<device::Instance>& present);
  void report_failure(const core::DestroyInstance& wanted);
  void note_created(const core::CreateInstance& wanted, const device::Instance& instance);
  void refuse(const core::CreateInstance& wanted, const std::string& why);
  void failed_on(core::GpuId gpu, const device::Failure& failure);

  // hardware_look.cpp: each GPU by itself
  void look_around();
  void look(const std::string& uuid);
  void looked(const Sight& sight, std::optional<std::uint64_t> changes);
  void not_looked(const std::string& uuid, const device::Failure& failure);
  void look_later(const std::string& uuid);
  [[nodiscard]] std::optional<std::uint64_t> changes_of(const std::string& uuid) const;

  // hardware_watch.cpp: what follows from what is seen
  void seen(const Sight& sight);
  void compare(core::GpuId id, const Sight& sight);
  void forget_gone(core::GpuId id, const Sight& sight);
  void compare_foreign(core::GpuId id, const Sight& sight);
  void compare_idle(core::GpuId id, const Sight& sight);
  void compare_held(core::GpuId id, const Sight& sight);
  void held_is_gone(core::GpuId id, const core::Entry& entry);
  void remove_leftover(core::GpuId id, const device::Instance& instance);
  void set_health(core::GpuId id, core::Health health, const std::string& why);
  void told(const device::DeviceEvent& event);
  [[nodiscard]] const device::Gpu* find(const std::string& uuid) const;
  [[nodiscard]] bool changing(core::GpuId id) const;
  [[nodiscard]] core::Health health_of(core::GpuId id) const;
  [[nodiscard]] bool is_known(core::GpuId id, const device::Instance& instance) const;
  [[nodiscard]] device::Workers::Limits limits() const;
  [[nodiscard]] std::optional<mig::Placement> placement_of(core::GpuId id,
                                                           const device::Instance& instance) const;

  boost::asio::io_context& loop_;
  Engine& engine_;
  HardwareOptions options_;
  std::shared_ptr<const device::Library> library_;
  std::shared_ptr<device::Owned> owned_;
  std::string driver_;
  std::vector<device::Gpu> gpus_;
  std::map<std::string, core::GpuId> ids_;                // of the scheduler's GPUs, by UUID
  std::map<std::uint32_t, device::Instance> instances_;   // by InstanceId
  std::map<std::uint32_t, std::uint32_t> under_way_;      // changes asked, by GpuId
  std::multimap<std::uint32_t, Pending> pending_;         // given up on, by GpuId
  std::map<std::uint32_t, std::uint64_t> changes_begun_;  // by GpuId: sights older than that lie
  std::map<std::uint32_t, core::Health> health_;          // as last told to the scheduler
  std::set<device::Place> leftovers_;                     // being removed
  std::set<std::uint32_t> undestroyed_;                   // by InstanceId: it failed
  std::set<std::uint32_t> forgetting_;                    // by GpuId: places where nothing stands
  std::unique_ptr<device::Workers> workers_;              // change
  std::unique_ptr<device::Workers> lookers_;              // only look
  std::unique_ptr<device::Events> events_;
  std::unique_ptr<device::Counters> counters_;
  std::unique_ptr<Threads> threads_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace tangram::daemon
