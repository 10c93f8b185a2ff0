// See remove_tree.hpp. The top folder is swept until it is empty: files are unlinked, and each
// folder in it is swept, too. A folder below that is not empty is moved up into the top folder, so
// that the tree becomes flat and nothing is ever opened deeper than one level.
#include "os/remove_tree.hpp"

#include <cerrno>
#include <cstdio>
#include <dirent.h>
#include <expected>
#include <fcntl.h>
#include <grp.h>
#include <memory>
#include <string_view>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

#include "os/descriptor.hpp"
#include "os/failure.hpp"

namespace tangram::os {
namespace {

constexpr int kFolder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

// While it exists, the calling thread has the file-system rights of another user without groups.
// Without effect for the thread's own user.
class FileSystemUser {
 public:
  FileSystemUser(uid_t uid, gid_t gid) : is_changed_(geteuid() == 0 && uid != 0) {
    if (!is_changed_) return;
    const int count = getgroups(0, nullptr);
    groups_.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
    if (getgroups(static_cast<int>(groups_.size()), groups_.data()) < 0) groups_.clear();
    set_groups({});
    old_gid_ = static_cast<gid_t>(setfsgid(gid));
    old_uid_ = static_cast<uid_t>(setfsuid(uid));
    // The calls report no failure. An invalid ID changes nothing and returns the current one.
    is_right_ = static_cast<uid_t>(setfsuid(static_cast<uid_t>(-1))) == uid &&
                static_cast<gid_t>(setfsgid(static_cast<gid_t>(-1))) == gid;
  }
  ~FileSystemUser() {
    if (!is_changed_) return;
    setfsuid(old_uid_);
    setfsgid(old_gid_);
    set_groups(groups_);
  }
  FileSystemUser(const FileSystemUser&) = delete;
  FileSystemUser& operator=(const FileSystemUser&) = delete;
  FileSystemUser(FileSystemUser&&) = delete;
  FileSystemUser& operator=(FileSystemUser&&) = delete;

  [[nodiscard]] bool is_right() const { return is_right_; }

 private:
  // The system call changes this thread only; setgroups() of the C library changes all of them.
  void set_groups(const std::vector<gid_t>& groups) {
    if (syscall(SYS_setgroups, groups.size(), groups.data()) != 0) is_right_ = false;
  }

  bool is_changed_;
  bool is_right_ = true;
  std::vector<gid_t> groups_;
  uid_t old_uid_ = 0;
  gid_t old_gid_ = 0;
};

struct Mount {
  std::uint64_t id = 0;
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
  friend bool operator==(const Mount&, const Mount&) = default;
};

Mount mount_of(int folder) {
  struct statx status{};
  if (statx(folder, "", AT_EMPTY_PATH, STATX_MNT_ID, &status) != 0) return {};
  return {status.stx_mnt_id, status.stx_dev_major, status.stx_dev_minor};
}

// AT_STATX_DONT_SYNC: a file system that hangs is not asked.
bool is_mount_point(int folder) {
  struct statx status{};
  return statx(folder, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &status) == 0 &&
         (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

// Gives the owner all rights on an open folder, which needs them to empty it.
void unlock(int folder) {
  struct stat status{};
  if (fstat(folder, &status) == 0 && (status.st_mode & S_IRWXU) != S_IRWXU) {
    static_cast<void>(fchmod(folder, S_IRWXU));
  }
}

// Returns the folder or an errno. A mount point is not opened (EBUSY): a user may have mounted a
// file system there that hangs. The place is found first, which asks no file system, and what it is
// stays so whatever is mounted later.
std::expected<Descriptor, int> open_folder(int parent, const char* name) {
  const Descriptor place(openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!place.ok()) return std::unexpected(errno);
  if (is_mount_point(place.get())) return std::unexpected(EBUSY);
  Descriptor folder(openat(place.get(), ".", kFolder));
  if (!folder.ok() && errno == EACCES) {
    // By this name because fchmod() does not accept a place.
    static_cast<void>(chmod(cat("/proc/self/fd/", place.get()).c_str(), S_IRWXU));
    folder = Descriptor(openat(place.get(), ".", kFolder));
  }
  if (!folder.ok()) return std::unexpected(errno);
  unlock(folder.get());
  return folder;
}

class Remover {
 public:
  Remover(int top, const RemoveLimits& limits)
      : top_(top), mount_(mount_of(top)), limits_(limits) {}

  // Empties the top folder. False: the limits ended it.
  Result<bool> run() {
    bool is_complete = true;
    do {
      has_progress_ = false;
      failure_.clear();
      is_complete = sweep(top_);
    } while (is_complete && has_progress_);
    if (!is_complete) return false;
    if (!failure_.empty()) return failed(failure_);
    return true;
  }

 private:
  [[nodiscard]] bool is_ended() const {
    if (limits_.cancelled != nullptr && *limits_.cancelled) return true;
    return std::chrono::steady_clock::now() >= limits_.until;
  }
  void fail(std::string_view tried, const char* name, int code) {
    if (failure_.empty()) failure_ = system_failure(tried, name, code).error().message;
  }

  // Handles each entry of the folder once.
  bool sweep(int folder) {
    const int copy = openat(folder, ".", kFolder);
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(copy < 0 ? nullptr : fdopendir(copy),
                                                      closedir);
    if (!entries) {
      fail("read", "a folder", errno);
      if (copy >= 0) close(copy);
      return true;
    }
    while (const dirent* entry = readdir(entries.get())) {
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      if (is_ended()) return false;
      if (!remove(folder, entry->d_name)) return false;
    }
    return true;
  }

  bool remove(int folder, const char* name) {
    const int removed = unlinkat(folder, name, 0);
    const int why = errno;
    if (removed == 0 || why == ENOENT) {
      has_progress_ = has_progress_ || removed == 0;
      return true;
    }
    if (unlinkat(folder, name, AT_REMOVEDIR) == 0) {
      has_progress_ = true;
      return true;
    }
    if (errno == ENOTDIR) {
      fail("remove", name, why);
      return true;
    }
    if (errno != ENOTEMPTY && errno != EEXIST) {
      fail("remove", name, errno);
      return true;
    }
    return folder == top_ ? sweep_below(name) : move_up(folder, name);
  }

  // Sweeps a folder in the top folder and removes it.
  bool sweep_below(const char* name) {
    const auto folder = open_folder(top_, name);
    if (!folder) {
      fail("open", name, folder.error());
      return true;
    }
    if (mount_of(folder->get()) != mount_) {
      fail("remove", name, EXDEV);
      return true;
    }
    if (!sweep(folder->get())) return false;
    if (unlinkat(top_, name, AT_REMOVEDIR) == 0) has_progress_ = true;
    return true;  // else it is not empty: the next sweep sees why
  }

  bool move_up(int folder, const char* name) {
    for (int attempt = 0;; ++attempt) {
      const std::string unused = cat(".removing-", next_++);
      if (renameat2(folder, name, top_, unused.c_str(), RENAME_NOREPLACE) == 0) {
        has_progress_ = true;
        return true;
      }
      // To be moved, the folder itself must be writable: its ".." changes.
      const bool is_locked = errno == EACCES && attempt == 0;
      if (is_locked) static_cast<void>(open_folder(folder, name));
      if (errno == EEXIST || is_locked) continue;
      fail("move", name, errno);
      return true;
    }
  }

  int top_;
  Mount mount_;
  const RemoveLimits& limits_;
  std::string failure_;
  bool has_progress_ = false;
  std::uint64_t next_ = 0;
};

}  // namespace

Result<bool> remove_tree(const std::string& path, const RemoveLimits& limits) {
  const auto top = open_folder(AT_FDCWD, path.c_str());
  if (!top && top.error() == ENOENT) return true;
  struct stat status{};
  if (!top) return system_failure("open", path, top.error());
  if (fstat(top->get(), &status) != 0) return system_failure("open", path, errno);
  {
    const FileSystemUser owner(status.st_uid, status.st_gid);
    if (!owner.is_right()) return failed(cat("cannot act as the owner of ", quoted(path), "."));
    const auto emptied = Remover(top->get(), limits).run();
    if (!emptied) {
      return failed(cat("cannot remove all of ", quoted(path), ": ", emptied.error().message));
    }
    if (!*emptied) return false;
  }
  if (rmdir(path.c_str()) == 0 || errno == ENOENT) return true;
  return system_failure("remove", path, errno);
}

}  // namespace tangram::os
