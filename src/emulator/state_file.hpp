// StateFile: the mapped file of an emulated node, shared by all processes that use it and outliving
// them. It is made whole under another name and then linked into place, so nobody ever sees a
// half-made one. Reading takes no lock; changing takes a robust lock that passes on when its holder
// dies, and takes effect at once and whole (cell.hpp). A file that was left by an earlier boot of
// this machine is taken through a reboot first. One rule: no code sleeps while it holds the lock.
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
#include "emulator/cell.hpp"
#include "emulator/node_spec.hpp"

namespace tangram::emulator {

class StateFile {
 public:
  // Opens the file; if there is none it is made for `spec` (an error without one). A file that was
  // made for another description is refused.
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

  // Whoever may write the file may come in through the doors (processes, demands, faults); who of
  // them may change instances is said in call.hpp.
  [[nodiscard]] bool writable() const { return writable_; }
  [[nodiscard]] uid_t owner() const { return owner_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  // Whether `path` still leads to this very file.
  [[nodiscard]] bool is_at(const std::string& path) const;

  // Changes, each under the lock. `change` works on a copy; what it returns decides: true commits.
  bool change_gpu(unsigned i, const std::function<bool(GpuState&)>& change);
  bool change_faults(const std::function<bool(FaultsState&)>& change);
  void reset(const NodeSpec& spec);
  void for_all_gpus(const std::function<void(GpuState&)>& change);

  // Waits until an event is written on any GPU after `seen` was read, or the time is over.
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
    Cell<NodeState> node;
    Cell<DescriptionState> description;
    Cell<FaultsState> faults;
    Cell<GpuState> gpus[kMostGpus];
  };
  class Lock;

  StateFile(std::string path, Map* map, bool writable, const struct ::stat& status);
  static Result<void> make(const std::string& path, const NodeSpec& spec);
  static Result<std::unique_ptr<StateFile>> map_file(const std::string& path);
  static void fill(Map& map, const NodeSpec& spec, bool first);
  static void prepare_lock(Map& map);
  [[nodiscard]] bool is_sound() const;
  Result<void> accept(const NodeSpec* spec);
  void reboot_if_needed();
  void announce(std::uint64_t before, const GpuState& after);
  static void wake(Map& map);  // whoever waits for an event

  std::string path_;
  Map* map_;
  bool writable_;
  uid_t owner_;
  dev_t device_;
  ino_t inode_;
};

}  // namespace tangram::emulator
