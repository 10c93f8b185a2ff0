// StateFile: the mapped file of an emulated node, shared by all processes that use it; it outlives
// them. It is created under a temporary name and then linked, so it is never seen incomplete. Reads
// take no lock. A change takes a robust mutex, which passes on if its holder dies, and becomes
// visible atomically (seqlock_record.hpp). A file of an earlier boot of this machine is rebooted
// first. Code that holds the lock must not sleep.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <pthread.h>
#include <string>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/error.hpp"
#include "emulator/node_spec.hpp"
#include "emulator/seqlock_record.hpp"

namespace tangram::emulator {

class StateFile {
 public:
  // Opens the file. If there is none, creates it from `spec` (an error if null). Fails if the file
  // was created from another description.
  [[nodiscard]] static Result<std::unique_ptr<StateFile>> open(const std::string& path,
                                                               const NodeSpec* spec);
  ~StateFile();
  StateFile(const StateFile&) = delete;
  StateFile& operator=(const StateFile&) = delete;
  StateFile(StateFile&&) = delete;
  StateFile& operator=(StateFile&&) = delete;

  [[nodiscard]] NodeState node() const { return map_->node.read(); }
  [[nodiscard]] std::string description() const { return map_->description.read().text; }
  [[nodiscard]] unsigned gpu_count() const { return node().gpu_count; }
  [[nodiscard]] GpuState gpu(unsigned i) const { return map_->gpus[i].read(); }
  [[nodiscard]] FaultsState faults() const { return map_->faults.read(); }
  [[nodiscard]] bool has_faults() const {
    return map_->fault_count.load(std::memory_order_relaxed) != 0;
  }

  // Whether this process may use the control functions (processes, demands, faults). Changing
  // instances needs more: see is_permitted() in call.hpp.
  [[nodiscard]] bool writable() const { return writable_; }
  [[nodiscard]] uid_t owner() const { return owner_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  // Returns whether `path` still names this file.
  [[nodiscard]] bool is_at(const std::string& path) const;

  // Changes, each under the lock. `change` gets a copy, which is committed if it returns true; that
  // is returned.
  bool change_gpu(unsigned i, const std::function<bool(GpuState&)>& change);
  bool change_faults(const std::function<bool(FaultsState&)>& change);
  void reset(const NodeSpec& spec);
  void change_all_gpus(const std::function<void(GpuState&)>& change);

  // Blocks until an event is written on any GPU after event_count() returned `seen`, or for the
  // given time.
  [[nodiscard]] std::uint32_t event_count() const {
    return map_->event_count.load(std::memory_order_acquire);
  }
  void wait_for_event(std::uint32_t seen, std::int64_t nanoseconds) const;

 private:
  struct Map {
    char magic[8];
    std::uint32_t layout;
    std::uint32_t bytes;
    char boot[40];
    pthread_mutex_t lock;
    std::atomic<std::uint32_t> fault_count;
    std::atomic<std::uint32_t> event_count;  // a futex
    SeqlockRecord<NodeState> node;
    SeqlockRecord<DescriptionState> description;
    SeqlockRecord<FaultsState> faults;
    SeqlockRecord<GpuState> gpus[kMaxGpus];
  };
  class Lock;

  StateFile(std::string path, Map* map, bool writable, const struct ::stat& status);
  static Result<void> create_file(const std::string& path, const NodeSpec& spec);
  static Result<std::unique_ptr<StateFile>> map_file(const std::string& path);
  static void write_node(Map& map, const NodeSpec& spec, bool is_new);
  static void prepare_lock(Map& map);
  [[nodiscard]] bool is_valid() const;
  Result<void> check_node(const NodeSpec* spec);
  void reboot_if_needed();
  void wake_if_new_event(std::uint64_t before, const GpuState& after);
  static void wake(Map& map);  // wakes all wait_for_event()

  std::string path_;
  Map* map_;
  bool writable_;
  uid_t owner_;
  dev_t device_;
  ino_t inode_;
};

}  // namespace tangram::emulator
