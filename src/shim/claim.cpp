// See claim.hpp. Two syncs per start: fdatasync of the exit file allocates its blocks, and fsync of
// the folder makes the names of all three files durable. The content of `started` matters only
// until the next boot, so it is not synced.
#include "shim/claim.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "base/check.hpp"
#include "base/text.hpp"
#include "os/boot_id.hpp"
#include "os/lock.hpp"
#include "shim/system.hpp"

namespace tangram::shim {
namespace {

std::unexpected<Refusal> refuse(ShimExit code, std::string reason) {
  return std::unexpected(Refusal{code, std::move(reason)});
}

std::unexpected<Refusal> refuse_write(std::string_view tried, const char* name, int code) {
  const bool is_full = code == ENOSPC || code == EDQUOT || code == EFBIG;
  return refuse(is_full ? ShimExit::kDiskFull : ShimExit::kFailed,
                cat("cannot ", tried, " ", quoted(name), " in the run folder: ", errno_text(code),
                    ". Nothing was run", is_full ? "; free disk space." : "."));
}

// 0, or why it failed.
int write_at_start(int fd, std::string_view text) {
  off_t at = 0;
  while (!text.empty()) {
    const ssize_t count = ::pwrite(fd, text.data(), text.size(), at);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(count));
    at += count;
  }
  return 0;
}

int fill_exit_file(int fd, std::string_view text) {
  const int code = write_at_start(fd, text);
  if (code != 0) return code;
  return ::fdatasync(fd) == 0 ? 0 : errno;
}

os::Descriptor make_file(int folder, const char* name, int flags) {
  const int all = flags | O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW;
  return os::Descriptor(::openat(folder, name, all, 0600));
}

}  // namespace

std::expected<Claim, Refusal> Claim::take(int folder) {
  os::Descriptor lock = make_file(folder, api::kLockFile, 0);
  if (!lock.ok()) return refuse_write("create the file", api::kLockFile, errno);
  const int locked = os::take_lock(lock.get());
  if (locked == EAGAIN) {
    return refuse(ShimExit::kAlreadyRunning,
                  "cannot run the job: another shim holds the run folder and runs it.");
  }
  if (locked != 0) return refuse_write("lock", api::kLockFile, locked);
  struct stat ignored{};
  if (::fstatat(folder, api::kStartedFile, &ignored, AT_SYMLINK_NOFOLLOW) == 0) {
    return refuse(ShimExit::kAlreadyRan,
                  "cannot run the job: it was started in this folder before, and is never started "
                  "twice. Use a new folder.");
  }
  if (errno != ENOENT) return refuse_write("check for", api::kStartedFile, errno);
  return Claim(folder, std::move(lock));
}

std::expected<void, Refusal> Claim::reserve_exit_file() {
  exit_ = make_file(folder_, api::kExitFile, O_TRUNC);
  if (!exit_.ok()) return refuse_write("create the file", api::kExitFile, errno);
  const int code = fill_exit_file(exit_.get(), std::string(kExitFileBytes, '\0'));
  if (code != 0) return refuse_write("reserve disk space for", api::kExitFile, code);
  return {};
}

std::expected<void, Refusal> Claim::mark_started(const std::string& tag) const {
  const boost::json::object started{
      {"version", api::kShimVersion}, {"shim", ::getpid()}, {"boot", os::boot_id()}, {"tag", tag}};
  const os::Descriptor file = make_file(folder_, api::kStartedFile, O_EXCL);
  int code = file.ok() ? 0 : errno;
  if (code == 0) code = write_at_start(file.get(), boost::json::serialize(started) + "\n");
  if (code == 0 && ::fsync(folder_) != 0) code = errno;
  if (code == 0) return {};
  ::unlinkat(folder_, api::kStartedFile, 0);
  return refuse_write("create the file", api::kStartedFile, code);
}

Result<void> Claim::record(const api::ExitRecord& record, std::chrono::milliseconds timeout) const {
  constexpr std::chrono::milliseconds kPollInterval{100};
  const Moment deadline = boot_now() + timeout;
  const std::string text = exit_file_text(record);
  int code = fill_exit_file(exit_.get(), text);
  for (; code != 0 && boot_now() < deadline; code = fill_exit_file(exit_.get(), text)) {
    note(cat("cannot write the exit record: ", errno_text(code), ". Retrying."));
    std::this_thread::sleep_for(kPollInterval);  // nothing reports when the disk has space again
  }
  if (code != 0) return failed(cat("cannot write the exit record: ", errno_text(code), "."));
  return {};
}

Result<bool> seal_run_folder(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return failed(cat("cannot create ", quoted(folder), ": ", errno_text(errno), "."));
  }
  const os::Descriptor at(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!at.ok()) return failed(cat("cannot open ", quoted(folder), ": ", errno_text(errno), "."));
  const auto claim = Claim::take(at.get());
  if (claim) {
    const auto marked = claim->mark_started("");
    if (marked) return true;
    // The disk is full, but removing the specification needs no space and prevents the start, too.
    if (::unlinkat(at.get(), api::kSpecFile, 0) == 0 || errno == ENOENT) return true;
    return failed(marked.error().reason);
  }
  const ShimExit code = claim.error().code;
  if (code == ShimExit::kAlreadyRunning || code == ShimExit::kAlreadyRan) return false;
  return failed(claim.error().reason);
}

std::string exit_file_text(api::ExitRecord record) {
  std::string text = boost::json::serialize(api::to_json(record));
  while (text.size() + 1 > kExitFileBytes) {
    CHECK(!record.reason.empty());
    record.reason.resize(record.reason.size() / 2);
    text = boost::json::serialize(api::to_json(record));
  }
  text.resize(kExitFileBytes - 1, ' ');
  return text + '\n';
}

}  // namespace tangram::shim
