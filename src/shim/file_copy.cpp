// See file_copy.hpp.
#include "shim/file_copy.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

#include "base/text.hpp"

namespace tangram::shim {
namespace {

constexpr int kCopyPipeBytes = 1'048'576;  // the kernel may grant less

std::string stall_text() {
  return cat("it took nothing for ", api::duration_text(FileCopy::kStallTime));
}

// Milliseconds for poll(), rounded up.
int left_until(Moment until) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - boot_now());
  return static_cast<int>(std::max<std::chrono::milliseconds::rep>(left.count(), 0));
}

}  // namespace

Result<void> FileCopy::start() {
  auto process = start_copy_process(spec_, path_);
  if (!process) return std::unexpected(process.error());
  process_ = *std::move(process);
  ::fcntl(process_.input.get(), F_SETPIPE_SZ, kCopyPipeBytes);
  return {};
}

void FileCopy::read_status() {
  CopyStatus status;
  while (process_.status.ok()) {
    const ssize_t size = ::read(process_.status.get(), &status, sizeof(status));
    if (size == static_cast<ssize_t>(sizeof(status))) {
      on_status(status);
      continue;
    }
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    process_.status = os::Descriptor(-1);
    if (phase_ == Phase::kOpening && !failure_) {
      failure_ = StartFailure{126, cat("the process that opens ", quoted(path_), " has ended.")};
    }
    end_process();
  }
}

void FileCopy::on_status(const CopyStatus& status) {
  switch (status.kind) {
    case CopyStatus::Kind::kStarted:
      // Its end of the status pipe is open, so it lives, and the number is its own.
      handle_ = os::Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, status.pid, 0)));
      return;
    case CopyStatus::Kind::kReady:
      phase_ = Phase::kOpen;
      on_opened_();
      return;
    case CopyStatus::Kind::kNotOpened:
      failure_ = StartFailure{126, output_failure_text(status.failure, spec_, path_)};
      return;
    case CopyStatus::Kind::kWriteFailed:
      why_lost_ = errno_text(status.failure.error);
      note(cat("output is not copied to ", quoted(path_), " any more: ", why_lost_, "."));
      return;
    case CopyStatus::Kind::kLost:
      lost_ += status.bytes;
      return;
  }
}

// The process has ended, or is given up.
void FileCopy::end_process() {
  if (phase_ == Phase::kEnded) return;
  const bool was_opening = std::exchange(phase_, Phase::kEnded) == Phase::kOpening;
  int left = 0;
  if (process_.input.ok() && ::ioctl(process_.input.get(), FIONREAD, &left) == 0 && left > 0) {
    drop(static_cast<std::size_t>(left), "");
  }
  drop(std::exchange(pending_, {}).size(), "");
  process_.input = os::Descriptor(-1);
  if (was_opening) on_opened_();
}

void FileCopy::drop(std::size_t bytes, std::string why) {
  if (bytes == 0) return;
  lost_ += bytes;
  if (why_lost_.empty())
    why_lost_ = why.empty() ? "the process that writes it has ended" : std::move(why);
}

void FileCopy::write(std::string_view text) {
  if (phase_ != Phase::kOpen) {
    drop(text.size(), "");
    return;
  }
  if (is_stalled_ && !write_note()) {
    drop(text.size(), stall_text());
    return;
  }
  if (pending_.empty()) stall_at_ = boot_now() + kStallTime;
  pending_ += text;
  flush();
}

// Written as a whole or not at all, because it is short: see PIPE_BUF in pipe(7).
bool FileCopy::write_note() {
  const std::string line = cat("\n[tangram: ", lost_ - noted_,
                               " bytes of output are missing here: ", stall_text(), "]\n");
  if (::write(process_.input.get(), line.data(), line.size()) < 0) return false;
  noted_ = lost_;
  is_stalled_ = false;
  return true;
}

void FileCopy::flush() {
  while (!pending_.empty()) {
    const ssize_t count = ::write(process_.input.get(), pending_.data(), pending_.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count < 0) {  // EPIPE: it has ended
      read_status();
      end_process();
      return;
    }
    pending_.erase(0, static_cast<std::size_t>(count));
    stall_at_ = boot_now() + kStallTime;
  }
}

void FileCopy::watch(PollSet& polls) {
  if (process_.status.ok()) {
    polls.watch(process_.status.get(), POLLIN, [this] { read_status(); });
  }
  if (phase_ == Phase::kOpen && is_behind()) {
    polls.watch(process_.input.get(), POLLOUT, [this] {
      if (phase_ == Phase::kOpen) flush();
    });
  }
}

std::optional<Moment> FileCopy::deadline() const {
  if (phase_ != Phase::kOpen || !is_behind()) return std::nullopt;
  return stall_at_;
}

void FileCopy::on_deadline(Moment now) {
  if (phase_ != Phase::kOpen || !is_behind() || now < stall_at_) return;
  note(cat("output is not copied to ", quoted(path_), ": ", stall_text(), "."));
  is_stalled_ = true;
  drop(std::exchange(pending_, {}).size(), stall_text());
}

void FileCopy::finish() {
  const Moment until = boot_now() + kStallTime;
  while (phase_ == Phase::kOpen && is_behind() && boot_now() < until) {
    pollfd polled{.fd = process_.input.get(), .events = POLLOUT, .revents = 0};
    if (::poll(&polled, 1, left_until(until)) > 0) flush();
  }
  if (phase_ == Phase::kOpen && is_stalled_) (void)write_note();
  await_end(until);
}

// The process ends when its pipe has ended and all of it is written.
void FileCopy::await_end(Moment until) {
  int left = 0;
  if (process_.input.ok()) ::ioctl(process_.input.get(), FIONREAD, &left);
  left += static_cast<int>(std::exchange(pending_, {}).size());
  process_.input = os::Descriptor(-1);
  while (phase_ == Phase::kOpen && boot_now() < until) {
    pollfd polled{.fd = process_.status.get(), .events = POLLIN, .revents = 0};
    if (::poll(&polled, 1, left_until(until)) > 0) read_status();
  }
  if (!process_.status.ok()) return;
  if (handle_.ok()) ::syscall(SYS_pidfd_send_signal, handle_.get(), SIGKILL, nullptr, 0);
  drop(static_cast<std::size_t>(left), stall_text());
}

std::string FileCopy::problem() const {
  if (lost_ == 0) return {};
  return cat(lost_, " bytes of output were not written to ", quoted(path_), ": ", why_lost_);
}

}  // namespace tangram::shim
