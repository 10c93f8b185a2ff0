// See helper_process.hpp.
#include "shim/helper_process.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "base/text.hpp"
#include "shim/start.hpp"
#include "shim/system.hpp"

namespace tangram::shim {
namespace {

// Keeps two descriptors. The others are the shim's: its lock on the run's folder, its log, the
// job's pipes. They are moved up first, because they may have each other's number.
void keep_descriptors(int input, int status) {
  const int high_input = ::fcntl(input, F_DUPFD, kHelperStatus + 1);
  const int high_status = ::fcntl(status, F_DUPFD, kHelperStatus + 1);
  ::dup3(high_input, kHelperInput, O_CLOEXEC);
  ::dup3(high_status, kHelperStatus, O_CLOEXEC);
  ::syscall(SYS_close_range, static_cast<unsigned>(kHelperStatus + 1), ~0U, 0);
  const int null = ::open("/dev/null", O_RDWR);
  if (null < 0) return;
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(null, fd);
  if (null > kHelperStatus) ::close(null);
}

}  // namespace

Result<HelperProcess> start_helper_process(const std::function<void()>& main) {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return failed(cat("cannot create a pipe: ", errno_text(errno), "."));
  const os::Descriptor input(ends[0]);  // the process's end may block
  HelperProcess process{.input = os::Descriptor(ends[1])};
  ::fcntl(process.input.get(), F_SETFL, O_NONBLOCK);
  Result<Pipe> status = make_pipe();
  if (!status) return std::unexpected(status.error());
  process.status = std::move(status->read);
  // The first child ends at once, so that the second one is no child of the shim.
  const pid_t first = ::fork();
  if (first == 0) {
    const pid_t second = ::fork();
    if (second == 0) {
      keep_descriptors(input.get(), status->write.get());
      main();
    }
    ::_exit(second < 0 ? 1 : 0);
  }
  int result = 0;
  const bool is_started = first > 0 && ::waitpid(first, &result, 0) == first && WIFEXITED(result) &&
                          WEXITSTATUS(result) == 0;
  if (!is_started) return failed("cannot fork.");
  return process;
}

}  // namespace tangram::shim
