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
  if (bytes_ == 0) return;  // no log is wanted
  while (!text.empty()) {
    // Checked again after the note, which may have filled the file.
    if (!ensure_space() || (lost_ > 0 && !(write_loss_note() && ensure_space()))) {
      count_lost(text, errno);
      return;
    }
    const std::string_view part = text.substr(0, bytes_ - size_);
    const ssize_t count = ::write(file_.get(), part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      count_lost(text, count < 0 ? errno : ENOSPC);
      return;
    }
    size_ += static_cast<std::uint64_t>(count);
    is_at_line_start_ = part[static_cast<std::size_t>(count) - 1] == '\n';
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

void RotatingLog::finish() {
  if (lost_ > 0 && ensure_space()) write_loss_note();
}

// Makes sure that the open file may take at least one more byte: opens or rotates it. False with
// errno set if that is not possible.
bool RotatingLog::ensure_space() {
  errno = ENOSPC;
  if (file_.ok() && size_ >= bytes_) rotate();
  if (!file_.ok()) open();
  return file_.ok();
}

void RotatingLog::open() {
  const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW;
  file_ = os::Descriptor(::openat(folder_, name_.c_str(), flags, 0640));
  struct stat status{};
  const bool is_known = file_.ok() && ::fstat(file_.get(), &status) == 0;
  size_ = is_known ? static_cast<std::uint64_t>(status.st_size) : 0;
}

// Renames only; no data is copied, so the job is not delayed.
void RotatingLog::rotate() {
  if (count_ == 1) {
    if (::ftruncate(file_.get(), 0) == 0) size_ = 0;
    return;
  }
  for (std::uint32_t age = count_ - 1; age > 1; --age) {
    ::renameat(folder_, rotated_name(age - 1).c_str(), folder_, rotated_name(age).c_str());
  }
  if (::renameat(folder_, name_.c_str(), folder_, rotated_name(1).c_str()) != 0) return;
  file_ = os::Descriptor(-1);
  open();
}

std::string RotatingLog::rotated_name(std::uint32_t age) const { return cat(name_, ".", age); }

void RotatingLog::count_lost(std::string_view text, int code) {
  lost_ += text.size();
  lost_code_ = code;
}

// Writes all of the text or nothing: a partial write is truncated.
bool RotatingLog::append(std::string_view text) {
  const ssize_t count = ::write(file_.get(), text.data(), text.size());
  if (count == static_cast<ssize_t>(text.size())) {
    size_ += text.size();
    return true;
  }
  const int code = count < 0 ? errno : ENOSPC;
  [[maybe_unused]] const int truncated = ::ftruncate(file_.get(), static_cast<off_t>(size_));
  errno = code;
  return false;
}

bool RotatingLog::write_loss_note() {
  const std::string line = cat(is_at_line_start_ ? "" : "\n", "[tangram: ", lost_,
                               " bytes of output were lost: ", errno_text(lost_code_), "]\n");
  if (size_ + line.size() > bytes_ && size_ > 0) rotate();
  if (!ensure_space()) return false;
  // A log that is too small for the line gets no note.
  if (line.size() <= bytes_ && !append(line)) return false;
  is_at_line_start_ = true;
  lost_ = 0;
  return true;
}

}  // namespace tangram::shim
