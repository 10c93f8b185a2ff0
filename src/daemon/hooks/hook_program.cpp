// See hook_program.hpp.
#include "daemon/hooks/hook_program.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/text.hpp"
#include "os/descriptor.hpp"
#include "os/spawn_attributes.hpp"

namespace tangram::daemon {
namespace {

// A file in memory: nothing waits for the program to read it.
Result<os::Descriptor> input_file(const std::string& text) {
  os::Descriptor file(::memfd_create("tangram-hook", MFD_CLOEXEC));
  std::size_t done = 0;
  while (file.ok() && done < text.size()) {
    const ssize_t count = ::write(file.get(), text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return failed(cat("cannot make its input: ", std::strerror(errno)));
    done += static_cast<std::size_t>(count);
  }
  if (!file.ok() || ::lseek(file.get(), 0, SEEK_SET) != 0) {
    return failed(cat("cannot make its input: ", std::strerror(errno)));
  }
  return file;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Result<pid_t> spawn_hook(const HookProgram& program) {
  const auto input = input_file(program.input);
  if (!input) return std::unexpected(input.error());
  std::vector<std::string> words = program.command;
  std::vector<std::string> variables = program.environment;
  const std::vector<char*> arguments = pointers_to(words);
  const std::vector<char*> environment = pointers_to(variables);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input->get(), STDIN_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  posix_spawn_file_actions_addchdir_np(&actions, "/");
  const os::SpawnAttributes attributes;
  pid_t pid = 0;
  const int error = posix_spawn(&pid, program.command.front().c_str(), &actions, attributes.get(),
                                arguments.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return failed(cat("cannot execute it: ", std::strerror(error)));
  return pid;
}

}  // namespace tangram::daemon
