// See output.hpp.
#include "shim/output.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

#include "shim/start.hpp"

namespace tangram::shim {
namespace {

// Holds a burst while the shim is busy. The kernel may grant less.
constexpr int kPipeBytes = 256 * 1'024;
// Read per stream and wakeup: a job that writes all the time must not starve other work.
constexpr std::size_t kTurnBytes = std::size_t{512} * 1'024;

}  // namespace

Output::Output(int folder, const char* name, const api::RunSpec& spec)
    : log_(folder, name, spec.log_bytes, spec.log_files) {}

Result<int> Output::open_write(const api::RunSpec& spec) {
  Result<Pipe> pipe = make_output_pipe(spec);
  if (!pipe) return std::unexpected(pipe.error());
  ::fcntl(pipe->write.get(), F_SETPIPE_SZ, kPipeBytes);
  read_ = std::move(pipe->read);
  write_ = std::move(pipe->write);
  return write_.get();
}

void Output::watch(PollSet& polls) {
  if (!read_.ok() || (copy_ != nullptr && copy_->is_behind())) return;
  polls.watch(read_.get(), POLLIN, [this] { pump(kTurnBytes); });
}

void Output::finish() {
  if (read_.ok()) {
    const int held = ::fcntl(read_.get(), F_GETPIPE_SZ);
    pump(static_cast<std::size_t>(std::max(held, kPipeBytes)));
  }
  read_ = os::Descriptor(-1);
  log_.finish();
}

bool Output::pump(std::size_t most) {
  static std::array<char, 65'536> buffer;  // shared: the shim is single-threaded
  for (std::size_t taken = 0; taken < most;) {
    const ssize_t count = ::read(read_.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    if (count == 0) {
      read_ = os::Descriptor(-1);
      return false;
    }
    const std::string_view text(buffer.data(), static_cast<std::size_t>(count));
    log_.write(text);
    if (copy_ != nullptr) copy_->write(text);
    taken += text.size();
    if (copy_ != nullptr && copy_->is_behind() && most == kTurnBytes) return true;
  }
  return true;
}

}  // namespace tangram::shim
