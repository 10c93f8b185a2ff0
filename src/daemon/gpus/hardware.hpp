// Hardware: the only part of the daemon that uses the driver. It executes CreateInstance and
// DestroyInstance with the device module's workers, and turns what the driver reports (foreign
// instances, unknown processes, Xids, lost, unresponsive and recovered GPUs) into scheduler events.
// It maps the scheduler's InstanceIds to the driver's instances. All functions run on the event
// loop; driver calls run on worker threads, except in open() and reconcile(), which block.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "core/action.hpp"
#include "core/ids.hpp"
#include "daemon/engine/engine.hpp"
#include "device/device.hpp"
#include "device/events.hpp"
#include "device/library.hpp"
#include "device/owned_instances.hpp"
#include "device/throughput_sampler.hpp"
#include "device/workers.hpp"

namespace boost::asio {
class io_context;
}

namespace tangram::daemon {

struct HardwareOptions {
  std::string library;     // path of libnvidia-ml.so.1
  std::string owned_file;  // records which instances Tangram created
  bool emulated = false;
  // On which GPUs MIG mode is switched on if it is off and no process uses the GPU: on those in the
  // store, if that needs no reset (Hopper and later); on all; on those with these UUIDs.
  bool enable_mig_managed = true;
  bool enable_mig_all = false;
  std::set<std::string> mig_gpus;
  std::chrono::milliseconds change_time{60'000};  // timeout of a change or a poll
  std::chrono::milliseconds in_use_time{10'000};  // how long a change is retried while in use
  std::chrono::milliseconds poll_interval{10'000};
  std::set<std::uint64_t> fatal_xids;  // these cordon the GPU
};

// Key of the stored fact that the GPU was cordoned by an Xid. A reboot undoes only such cordons.
[[nodiscard]] inline std::string xid_cordon_key(core::GpuId gpu) {
  return "xid-cordon-" + std::to_string(gpu.value());
}

// What one poll read of a GPU.
struct GpuSnapshot {
  device::Gpu gpu;
  std::optional<std::vector<device::Instance>> instances;  // nullopt: could not be listed
  std::vector<device::Process> processes;
  std::string trouble;      // why something could not be read; empty if all was
  std::string mig_failure;  // why MIG mode was not switched on; empty: it was, or was not tried
};

// Switches MIG mode on if no process uses the GPU, reads the GPU again and logs the result. Returns
// why it is not on; empty if it is. Blocks; may be called on any thread.
[[nodiscard]] std::string switch_mig_on(const device::Library& library, device::Gpu& gpu);

class Hardware {
 public:
  // Loads the library and lists the GPUs. Changes nothing on them except that it enables MIG mode
  // as `options` say.
  [[nodiscard]] static Result<std::unique_ptr<Hardware>> open(boost::asio::io_context& loop,
                                                              Engine& engine,
                                                              HardwareOptions options);
  ~Hardware();
  Hardware(const Hardware&) = delete;
  Hardware& operator=(const Hardware&) = delete;
  Hardware(Hardware&&) = delete;
  Hardware& operator=(Hardware&&) = delete;

  // Sets the instances, by MIG UUID, of orphaned runs: they are neither destroyed nor handed out.
  // Called before reconcile(), and again when such a run has ended and its instance is no longer
  // among them.
  void set_orphaned(std::set<std::string> mig_uuids);
  // Compares the scheduler's state with the driver's and posts events and actions for every
  // difference; see gpu_recovery.cpp. `rebooted`: no earlier instance can exist any more. Called
  // once at start, before create(), destroy() and start_polling().
  void reconcile(bool rebooted);

  // Takes the orphaned instances away from the jobs and leases that the store gives them to. Called
  // once, when the events of the runs that have ended are posted, so that those end as they did.
  void settle_orphaned();

  // Start the change on a worker; the result is posted to the engine as an event.
  void create(const core::CreateInstance& action);
  void destroy(const core::DestroyInstance& action);

  // Starts listening to driver events and polling every GPU periodically.
  void start_polling();
  // A run on the GPU has ended: discards the result of a poll that began before.
  void on_run_ended(core::GpuId gpu) { ++change_counts_[gpu.value()]; }
  void set_fatal_xids(std::set<std::uint64_t> xids) { options_.fatal_xids = std::move(xids); }

  [[nodiscard]] const std::vector<device::Gpu>& gpus() const { return gpus_; }
  // Whether the driver lists none of the instances that jobs hold. Blocks.
  [[nodiscard]] bool has_no_held_instances() const;
  [[nodiscard]] const std::string& driver() const { return driver_; }
  [[nodiscard]] std::vector<device::ErrorCount> errors() const { return library_->errors(); }
  [[nodiscard]] std::map<std::string, std::uint64_t> error_totals() const {
    return library_->error_totals();
  }
  // The last measurement; nullopt if there is none or it is too old.
  [[nodiscard]] std::optional<device::PcieThroughput> throughput(const std::string& uuid) const;
  // nullopt: the scheduler does not have this GPU (yet).
  [[nodiscard]] std::optional<core::GpuId> id_of(const std::string& uuid) const;
  // Empty if unknown.
  [[nodiscard]] std::string uuid_of(core::GpuId gpu) const;

  // Whether the instance exists in the driver.
  [[nodiscard]] bool has_instance(core::InstanceId instance) const {
    return instances_.contains(instance.value());
  }
  // The driver's instance; null if it does not exist. Valid until the next event on the loop.
  [[nodiscard]] const device::Instance* instance(core::InstanceId instance) const {
    const auto at = instances_.find(instance.value());
    return at == instances_.end() ? nullptr : &at->second;
  }
  // N of /dev/nvidiaN; nullopt if the GPU cannot be read.
  [[nodiscard]] std::optional<unsigned> minor_of(core::GpuId gpu) const {
    const device::Gpu* known = find(uuid_of(gpu));
    if (known == nullptr || known->health != device::Health::kOk) return std::nullopt;
    return known->minor;
  }
  // Lists the processes in the instance on a worker and passes their pids to `on_result`, on the
  // loop; nullopt: they could not be listed. An instance that does not exist has none.
  void list_processes(
      core::GpuId gpu, core::InstanceId instance,
      const std::function<void(const std::optional<std::vector<unsigned>>&)>& on_result);

  // Emulated node only: makes the driver list the process on the instance, as it would list a CUDA
  // process.
  void register_process(const std::string& mig_uuid, int pid);

  // Called when the loss of a GPU is durable: ends the runs on it.
  std::function<void(core::GpuId)> on_gpu_lost;
  // Called when an instance that a job holds was removed by another program: ends its run.
  std::function<void(core::InstanceId)> on_instance_lost;

 private:
  Hardware(boost::asio::io_context& loop, Engine& engine, HardwareOptions options);
  struct PollState;
  struct UnresolvedChange {  // timed out: whether it was made is not known yet
    std::variant<core::CreateInstance, core::DestroyInstance> action;
  };

  // hardware.cpp, gpu_recovery.cpp
  [[nodiscard]] Result<void> initialize();
  void add_gpu(const device::Gpu& gpu, const std::vector<device::Instance>& present);
  void reconcile_gpu(core::GpuId id, const device::Gpu& gpu, bool rebooted);
  void reconcile_entry(core::GpuId id, const device::Gpu& gpu, const core::Entry& entry,
                       const std::vector<device::Instance>& present);

  // gpu_mig.cpp
  [[nodiscard]] bool may_switch_mig(const device::Gpu& gpu) const;
  void switch_mig_on_at_start();
  [[nodiscard]] bool is_mig_attempt_due(const std::string& uuid);
  void note_mig_mode(device::Gpu& gpu, const std::string& failure);
  void take_out_of_service(core::GpuId id);

  // gpu_orphans.cpp: instances of orphaned runs
  [[nodiscard]] bool is_orphaned(const device::Instance& instance) const {
    return orphaned_.contains(instance.mig_uuid);
  }
  void reconcile_orphaned(core::GpuId id, const core::Entry& entry,
                          const device::Instance& instance);
  void take_orphaned(core::GpuId id, core::InstanceId instance);

  void on_created(const core::CreateInstance& action, device::Outcome<device::Instance> outcome);
  void on_destroyed(const core::DestroyInstance& action, device::Outcome<void> outcome);
  void on_responsive(const device::Reconciled& what);
  void resolve(const core::CreateInstance& action, const std::vector<device::Instance>& present);
  void resolve(const core::DestroyInstance& action, const std::vector<device::Instance>& present);
  void report_destroy_failure(const core::DestroyInstance& action);
  void note_created(const core::CreateInstance& action, const device::Instance& instance);
  void report_create_failure(const core::CreateInstance& action, const std::string& why);
  void mark_gpu_failed(core::GpuId gpu, const device::Failure& failure);

  // gpu_events.cpp: what the driver reports on its own
  void on_driver_event(const device::DeviceEvent& event);

  // gpu_poll.cpp: each GPU is polled on its own
  void poll_all();
  void poll(const std::string& uuid);
  void on_polled(const GpuSnapshot& snapshot, std::optional<std::uint64_t> changes);
  void poll_failed(const std::string& uuid, const device::Failure& failure);
  void schedule_poll(const std::string& uuid);
  [[nodiscard]] std::optional<std::uint64_t> change_count(const std::string& uuid) const;

  // gpu_compare.cpp: compares snapshots with the scheduler's state
  void on_snapshot(const GpuSnapshot& snapshot);
  void compare(core::GpuId id, const GpuSnapshot& snapshot);
  void release_missing(core::GpuId id, const GpuSnapshot& snapshot);
  void compare_foreign(core::GpuId id, const GpuSnapshot& snapshot);
  void compare_idle(core::GpuId id, const GpuSnapshot& snapshot);
  void compare_held(core::GpuId id, const GpuSnapshot& snapshot);
  void forget_missing(core::GpuId id, const mig::Placement& placement);
  void report_held_lost(core::GpuId id, const core::Entry& entry, const std::string& cause);
  void remove_leftover(core::GpuId id, const device::Instance& instance);
  [[nodiscard]] bool is_known(core::GpuId id, const device::Instance& instance) const;
  [[nodiscard]] bool has_placement(core::GpuId id, const GpuSnapshot& snapshot,
                                   const mig::Placement& placement) const;
  [[nodiscard]] std::optional<mig::Placement> placement_of(core::GpuId id,
                                                           const device::Instance& instance) const;

  // hardware.cpp: what is known of a GPU
  void set_health(core::GpuId id, core::Health health, const std::string& why);
  [[nodiscard]] const device::Gpu* find(const std::string& uuid) const;
  [[nodiscard]] bool is_changing(core::GpuId id) const;
  [[nodiscard]] core::Health health_of(core::GpuId id) const;
  [[nodiscard]] device::Workers::Limits limits() const;

  boost::asio::io_context& loop_;
  Engine& engine_;
  HardwareOptions options_;
  std::shared_ptr<const device::Library> library_;
  std::shared_ptr<device::OwnedInstances> owned_;
  std::string driver_;
  std::vector<device::Gpu> gpus_;
  std::map<std::string, core::GpuId> ids_;                     // the scheduler's GPUs, by UUID
  std::map<std::uint32_t, device::Instance> instances_;        // by InstanceId
  std::map<std::uint32_t, std::uint32_t> changes_in_flight_;   // by GpuId
  std::multimap<std::uint32_t, UnresolvedChange> unresolved_;  // by GpuId
  // By GpuId: how many changes were begun. A snapshot taken across a change is discarded.
  std::map<std::uint32_t, std::uint64_t> change_counts_;
  std::map<std::uint32_t, core::Health> health_;  // as last posted to the scheduler
  std::set<device::InstanceLocation> leftovers_;  // being removed
  std::set<std::string> orphaned_;                // MIG UUIDs; see set_orphaned()
  // Orphaned instances that the scheduler has as held or idle, until settle_orphaned().
  std::vector<std::pair<core::GpuId, core::InstanceId>> unsettled_;
  std::set<std::uint32_t> destroy_failed_;    // by InstanceId
  std::set<std::uint32_t> releasing_;         // by GpuId; see release_missing()
  std::unique_ptr<device::Workers> workers_;  // make changes
  std::unique_ptr<device::Workers> pollers_;  // only read
  std::unique_ptr<device::Events> events_;
  std::unique_ptr<device::ThroughputSampler> counters_;
  std::unique_ptr<PollState> poll_state_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace tangram::daemon
