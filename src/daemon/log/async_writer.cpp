// See async_writer.hpp.
#include "daemon/log/async_writer.hpp"

#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <fcntl.h>
#include <mutex>
#include <poll.h>
#include <string_view>
#include <thread>
#include <unistd.h>
#include <utility>

#include "os/descriptor.hpp"

namespace tangram::daemon {
namespace {

struct Line {
  std::string text;
  std::uint64_t dropped_before = 0;  // lines dropped between the previous line and this one
};

// False: the text cannot be written, e.g. because the reader has closed the pipe.
bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {  // another program made the open file non-blocking
      pollfd writable{.fd = descriptor, .events = POLLOUT, .revents = 0};
      ::poll(&writable, 1, -1);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

}  // namespace

struct AsyncWriter::State {
  State(int file, std::size_t limit, Notice text_of_notice)
      : descriptor(::fcntl(file, F_DUPFD_CLOEXEC, 3)),
        max_bytes(limit),
        notice(std::move(text_of_notice)) {}

  void run();
  void write_line(const Line& line);

  const os::Descriptor descriptor;
  const std::size_t max_bytes;
  const Notice notice;
  std::uint64_t unwritten = 0;  // lines that could not be written; used by the thread only

  std::mutex mutex;  // guards what follows; never held during write()
  std::condition_variable changed;
  std::deque<Line> lines;
  std::size_t bytes = 0;         // of the lines and of the one being written
  bool is_writing = false;       // the thread has taken a line
  std::uint64_t unreported = 0;  // dropped since the last line was queued
  std::uint64_t total_dropped = 0;
  bool is_closed = false;
};

// Writes the notice about lines dropped before this one, and the line, which may be empty.
void AsyncWriter::State::write_line(const Line& line) {
  const std::uint64_t missing = line.dropped_before + unwritten;
  if (missing > 0) unwritten = write_all(descriptor.get(), notice(missing)) ? 0 : missing;
  if (write_all(descriptor.get(), line.text)) return;
  ++unwritten;
  const std::lock_guard guard(mutex);
  ++total_dropped;
}

void AsyncWriter::State::run() {
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock, [this] { return is_closed || !lines.empty() || unreported > 0; });
    if (is_closed) return;
    Line line;
    if (lines.empty()) {
      line.dropped_before = std::exchange(unreported, 0);
    } else {
      line = std::move(lines.front());
      lines.pop_front();
    }
    is_writing = true;
    lock.unlock();
    write_line(line);
    lock.lock();
    is_writing = false;
    bytes -= line.text.size();
    changed.notify_all();
  }
}

AsyncWriter::AsyncWriter(int descriptor, std::size_t max_bytes, Notice notice)
    : state_(std::make_shared<State>(descriptor, max_bytes, std::move(notice))) {
  // Signals are handled by the daemon's main thread. The mask is inherited, so that not even the
  // first instruction of the thread can be interrupted.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread([state = state_] { state->run(); }).detach();
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

AsyncWriter::~AsyncWriter() {
  const std::lock_guard guard(state_->mutex);
  state_->is_closed = true;
  state_->changed.notify_all();
}

void AsyncWriter::write(std::string line) {
  State& state = *state_;
  const std::lock_guard guard(state.mutex);
  if (state.bytes > 0 && state.bytes + line.size() > state.max_bytes) {
    ++state.unreported;
    ++state.total_dropped;
    return;
  }
  state.bytes += line.size();
  state.lines.push_back({std::move(line), std::exchange(state.unreported, 0)});
  state.changed.notify_all();
}

bool AsyncWriter::flush(std::chrono::milliseconds timeout) {
  std::unique_lock lock(state_->mutex);
  return state_->changed.wait_for(lock, timeout, [this] {
    return state_->lines.empty() && !state_->is_writing && state_->unreported == 0;
  });
}

std::uint64_t AsyncWriter::dropped() const {
  const std::lock_guard guard(state_->mutex);
  return state_->total_dropped;
}

}  // namespace tangram::daemon
