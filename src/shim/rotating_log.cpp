// See rotating_log.hpp.
#include "shim/rotating_log.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "base/text.hpp"
#include "shim/system.hpp"

namespace tangram::shim {

RotatingLog::RotatingLog(int folder, std::string name, std::uint64_t bytes, std::uint32_t count)
    : folder_(folder), name_(std::move(name)), bytes_(bytes), count_(std::max(count, 1U)) {
  open();
}

void RotatingLog::write(std::string_view text) {
  while (!text.empty()) {
    // Room again after a confession: it may have filled the file.
    if (!room() || (lost_ > 0 && !(confess() && room()))) {
      lose(text, errno);
      return;
    }
    const std::string_view part = text.substr(0, bytes_ - size_);
    const ssize_t count = ::write(file_.get(), part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      lose(text, count < 0 ? errno : ENOSPC);
      return;
    }
    size_ += static_cast<std::uint64_t>(count);
    is_at_line_start_ = part[static_cast<std::size_t>(count) - 1] == '\n';
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

void RotatingLog::finish() {
  if (lost_ > 0 && room()) confess();
}

// An open file that takes at least one byte more; false and errno if there is none.
bool RotatingLog::room() {
  errno = ENOSPC;
  if (bytes_ == 0) return false;
  if (file_.ok() && size_ >= bytes_) rotate();
  if (!file_.ok()) open();
  return file_.ok();
}

void RotatingLog::open() {
  const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW;
  file_ = files::Descriptor(::openat(folder_, name_.c_str(), flags, 0640));
  struct stat status{};
  const bool is_known = file_.ok() && ::fstat(file_.get(), &status) == 0;
  size_ = is_known ? static_cast<std::uint64_t>(status.st_size) : 0;
}

// Only names change: no byte is copied, so the job does not notice.
void RotatingLog::rotate() {
  if (count_ == 1) {
    if (::ftruncate(file_.get(), 0) == 0) size_ = 0;
    return;
  }
  for (std::uint32_t age = count_ - 1; age > 1; --age) {
    ::renameat(folder_, older(age - 1).c_str(), folder_, older(age).c_str());
  }
  if (::renameat(folder_, name_.c_str(), folder_, older(1).c_str()) != 0) return;
  file_ = files::Descriptor(-1);
  open();
}

std::string RotatingLog::older(std::uint32_t age) const { return cat(name_, ".", age); }

void RotatingLog::lose(std::string_view text, int code) {
  lost_ += text.size();
  lost_code_ = code;
}

// Whole or not at all: what was written of a line that did not fit the disk is taken back.
bool RotatingLog::append(std::string_view text) {
  const ssize_t count = ::write(file_.get(), text.data(), text.size());
  if (count == static_cast<ssize_t>(text.size())) {
    size_ += text.size();
    return true;
  }
  const int code = count < 0 ? errno : ENOSPC;
  [[maybe_unused]] const int taken_back = ::ftruncate(file_.get(), static_cast<off_t>(size_));
  errno = code;
  return false;
}

bool RotatingLog::confess() {
  const std::string line = cat(is_at_line_start_ ? "" : "\n", "[tangram: ", lost_,
                               " bytes of output were lost: ", why(lost_code_), "]\n");
  if (size_ + line.size() > bytes_ && size_ > 0) rotate();
  if (!room()) return false;
  // A log too small for the line says nothing.
  if (line.size() <= bytes_ && !append(line)) return false;
  is_at_line_start_ = true;
  lost_ = 0;
  return true;
}

}  // namespace tangram::shim
