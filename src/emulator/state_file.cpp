// See state_file.hpp.
#include "emulator/state_file.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "emulator/gpu.hpp"
#include "os/boot_id.hpp"
#include "os/descriptor.hpp"

namespace tangram::emulator {
namespace {

constexpr char kMagic[8] = {'t', 'a', 'n', 'g', 'r', 'a', 'm', 'E'};
constexpr std::uint32_t kLayout = 2;  // increment it when state.hpp changes

std::string why() { return std::strerror(errno); }

void set_text(char* to, std::size_t size, std::string_view text) {
  CHECK(text.size() < size);
  std::memcpy(to, text.data(), text.size());
  to[text.size()] = '\0';
}

}  // namespace

// Holds the lock while in scope.
class StateFile::Lock {
 public:
  explicit Lock(Map& map) : map_(map) {
    const int result = pthread_mutex_lock(&map_.lock);
    CHECK(result == 0 || result == EOWNERDEAD);
    if (result == 0) return;
    // Its holder died. What it had not committed does not count; what it had committed may lack its
    // wake-up.
    pthread_mutex_consistent(&map_.lock);
    wake(map_);
  }
  ~Lock() { pthread_mutex_unlock(&map_.lock); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  Lock(Lock&&) = delete;
  Lock& operator=(Lock&&) = delete;

 private:
  Map& map_;
};

StateFile::StateFile(std::string path, Map* map, bool writable, const struct ::stat& status)
    : path_(std::move(path)),
      map_(map),
      writable_(writable),
      owner_(status.st_uid),
      device_(status.st_dev),
      inode_(status.st_ino) {}

StateFile::~StateFile() { munmap(map_, sizeof(Map)); }

void StateFile::prepare_lock(Map& map) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  CHECK(pthread_mutex_init(&map.lock, &attributes) == 0);
  pthread_mutexattr_destroy(&attributes);
}

void StateFile::write_node(Map& map, const NodeSpec& spec, bool is_new) {
  for (unsigned i = 0; i < spec.gpus.size(); ++i) {
    GpuState gpu = new_gpu(spec, i);
    if (!is_new) {  // invalidates handles and event sets that programs still hold
      const GpuState old = map.gpus[i].read();
      gpu.next_generation += old.next_generation;
      gpu.events_written = old.events_written;
      for (GiState& gi : gpu.gis) {
        gi.generation += old.next_generation;
        for (CiState& ci : gi.cis) ci.generation += old.next_generation;
      }
    }
    map.gpus[i].commit(gpu);
  }
  NodeState node;
  set_text(node.driver, sizeof node.driver, spec.driver);
  node.gpu_count = static_cast<std::uint32_t>(spec.gpus.size());
  node.privileges = spec.privileges;
  node.find_processes = spec.find_processes ? 1 : 0;
  node.latencies = spec.latencies;
  DescriptionState description;
  set_text(description.text, sizeof description.text, spec.description);
  map.description.commit(description);
  map.node.commit(node);
  map.faults.commit(FaultsState{});
  map.fault_count.store(0, std::memory_order_relaxed);
}

// Created under a temporary name, then linked: of two creators, the second finds the file of the
// first.
Result<void> StateFile::create_file(const std::string& path, const NodeSpec& spec) {
  constexpr mode_t kShared = 0666;
  constexpr mode_t kOwned = 0644;
  std::string name = path + ".XXXXXX";  // mkostemp() writes its own letters over the last six
  const os::Descriptor fd(mkostemp(name.data(), O_CLOEXEC));
  if (!fd.ok()) {
    return failed(cat("cannot create the state file ", tangram::quoted(path), ": ", why(),
                      ". Set TANGRAM_EMULATOR_STATE to a file in a writable folder."));
  }
  const auto fail_with = [&](std::string_view what) {
    const std::string reason = why();
    unlink(name.c_str());
    return failed(
        cat("cannot ", what, " the state file ", tangram::quoted(path), ": ", reason, "."));
  };
  if (fchmod(fd.get(), spec.shared ? kShared : kOwned) != 0 ||
      (errno = posix_fallocate(fd.get(), 0, sizeof(Map))) != 0) {
    return fail_with("size");
  }
  void* memory = mmap(nullptr, sizeof(Map), PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (memory == MAP_FAILED) return fail_with("map");
  auto& map = *static_cast<Map*>(memory);
  std::memcpy(map.magic, kMagic, sizeof kMagic);
  map.layout = kLayout;
  map.bytes = sizeof(Map);
  set_text(map.boot, sizeof map.boot, os::boot_id());
  prepare_lock(map);
  write_node(map, spec, true);
  munmap(memory, sizeof(Map));
  if (link(name.c_str(), path.c_str()) != 0 && errno != EEXIST) return fail_with("name");
  unlink(name.c_str());
  return {};
}

Result<std::unique_ptr<StateFile>> StateFile::map_file(const std::string& path) {
  bool writable = true;
  int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0 && (errno == EACCES || errno == EROFS)) {
    writable = false;
    fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  }
  const os::Descriptor file(fd);
  if (!file.ok()) {
    if (errno == ENOENT) return not_found(cat("state file ", tangram::quoted(path), ": not found"));
    return failed(cat("cannot open the state file ", tangram::quoted(path), ": ", why(), "."));
  }
  const auto refused = [&] {
    return failed(cat(tangram::quoted(path),
                      " is not a state file of this version of the emulator. "
                      "Remove it, or set TANGRAM_EMULATOR_STATE to another one."));
  };
  struct ::stat status{};
  if (fstat(fd, &status) != 0 || status.st_size != static_cast<off_t>(sizeof(Map))) {
    return refused();
  }
  void* memory =
      mmap(nullptr, sizeof(Map), writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) {
    return failed(cat("cannot map the state file ", tangram::quoted(path), ": ", why(), "."));
  }
  std::unique_ptr<StateFile> state(
      new StateFile(path, static_cast<Map*>(memory), writable, status));
  if (!state->is_valid()) return refused();
  return state;
}

// Checks the whole file before any of it is used.
bool StateFile::is_valid() const {
  const auto is_terminated = [](const auto& text) {
    return std::memchr(text, 0, sizeof text) != nullptr;
  };
  if (std::memcmp(map_->magic, kMagic, sizeof kMagic) != 0 || map_->layout != kLayout ||
      map_->bytes != sizeof(Map) || !is_terminated(map_->boot)) {
    return false;
  }
  const NodeState node = map_->node.read();
  const FaultsState faults = map_->faults.read();
  if (!is_terminated(node.driver) || !is_terminated(map_->description.read().text) ||
      node.gpu_count > kMaxGpus || !std::ranges::all_of(faults.faults, [&](const FaultState& f) {
        return is_terminated(f.call);
      })) {
    return false;
  }
  for (unsigned i = 0; i < node.gpu_count; ++i) {
    if (!emulator::is_valid(gpu(i))) return false;
  }
  return true;
}

Result<std::unique_ptr<StateFile>> StateFile::open(const std::string& path, const NodeSpec* spec) {
  auto state = map_file(path);
  if (!state && state.error().code == ErrorCode::kNotFound) {
    if (spec == nullptr) {
      return not_found(cat(state.error().message,
                           ", and TANGRAM_EMULATE is not set. Set it to a node, e.g. "
                           "TANGRAM_EMULATE=4xA100-40GB."));
    }
    if (const auto made = create_file(path, *spec); !made) return std::unexpected(made.error());
    state = map_file(path);
  }
  if (!state) return state;
  if (const auto accepted = (*state)->check_node(spec); !accepted) {
    return std::unexpected(accepted.error());
  }
  if ((*state)->writable_) (*state)->reboot_if_needed();
  return state;
}

Result<void> StateFile::check_node(const NodeSpec* spec) {
  if (spec == nullptr || spec->description == description()) return {};
  return failed(cat("the state file ", tangram::quoted(path_), " describes another node (",
                    tangram::quoted(description()),
                    "). Use another file (TANGRAM_EMULATOR_STATE), or replace it with "
                    "`tangram emulate reset NODE`."));
}

// Instances do not survive a reboot of the machine, and the lock may be held by a process that no
// longer exists.
void StateFile::reboot_if_needed() {
  const std::string now = os::boot_id();
  if (now == map_->boot) return;
  const os::Descriptor file(::open(path_.c_str(), O_RDWR | O_CLOEXEC));
  struct flock whole{};
  whole.l_type = F_WRLCK;
  int locked = file.ok() ? fcntl(file.get(), F_OFD_SETLKW, &whole) : -1;
  while (locked != 0 && file.ok() && errno == EINTR) {
    locked = fcntl(file.get(), F_OFD_SETLKW, &whole);
  }
  CHECK(locked == 0);             // it has just been opened
  if (now == map_->boot) return;  // another process was first
  prepare_lock(*map_);
  change_all_gpus([](GpuState& gpu) { reboot(gpu); });
  set_text(map_->boot, sizeof map_->boot, now);
}

bool StateFile::is_at(const std::string& path) const {
  struct ::stat status{};
  return path == path_ && stat(path.c_str(), &status) == 0 && status.st_dev == device_ &&
         status.st_ino == inode_;
}

void StateFile::wake_if_new_event(std::uint64_t before, const GpuState& after) {
  if (after.events_written != before) wake(*map_);
}

void StateFile::wake(Map& map) {
  map.event_count.fetch_add(1, std::memory_order_release);
  syscall(SYS_futex, &map.event_count, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void StateFile::wait_for_event(std::uint32_t seen, std::int64_t nanoseconds) const {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const timespec limit{.tv_sec = nanoseconds / kSecond, .tv_nsec = nanoseconds % kSecond};
  syscall(SYS_futex, &map_->event_count, FUTEX_WAIT, seen, &limit, nullptr, 0);
}

bool StateFile::change_gpu(unsigned i, const std::function<bool(GpuState&)>& change) {
  const Lock lock(*map_);
  GpuState gpu = map_->gpus[i].read();
  const std::uint64_t before = gpu.events_written;
  if (!change(gpu)) return false;
  map_->gpus[i].commit(gpu);
  wake_if_new_event(before, gpu);
  return true;
}

void StateFile::change_all_gpus(const std::function<void(GpuState&)>& change) {
  const unsigned count = gpu_count();
  for (unsigned i = 0; i < count; ++i) {
    change_gpu(i, [&](GpuState& gpu) {
      change(gpu);
      return true;
    });
  }
}

bool StateFile::change_faults(const std::function<bool(FaultsState&)>& change) {
  const Lock lock(*map_);
  FaultsState faults = map_->faults.read();
  if (!change(faults)) return false;
  // A process killed between the two leaves a count that is too high, which only costs time.
  map_->fault_count.store(kMaxFaults, std::memory_order_relaxed);
  map_->faults.commit(faults);
  const auto count = std::ranges::count_if(
      faults.faults, [](const FaultState& f) { return f.kind != FaultKind::kNone; });
  map_->fault_count.store(static_cast<std::uint32_t>(count), std::memory_order_relaxed);
  return true;
}

void StateFile::reset(const NodeSpec& spec) {
  const Lock lock(*map_);
  write_node(*map_, spec, false);
}

}  // namespace tangram::emulator
