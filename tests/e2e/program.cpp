// See program.hpp. Standard streams are temporary files, so that nothing can block.
#include "program.hpp"

#include <cstdio>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.hpp"

namespace tangram::tests {
namespace {

struct Stream {
  std::FILE* file = std::tmpfile();

  Stream() { CHECK(file != nullptr); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  Stream(Stream&&) = delete;
  Stream& operator=(Stream&&) = delete;
  ~Stream() { static_cast<void>(std::fclose(file)); }

  [[nodiscard]] int descriptor() const { return ::fileno(file); }
  void write(const std::string& text) const {
    CHECK(std::fwrite(text.data(), 1, text.size(), file) == text.size());
    CHECK(std::fflush(file) == 0);
    CHECK(::lseek(descriptor(), 0, SEEK_SET) == 0);
  }
  [[nodiscard]] std::string read() const {
    std::string text;
    CHECK(::lseek(descriptor(), 0, SEEK_SET) == 0);
    char chunk[4096];
    for (ssize_t count = 0; (count = ::read(descriptor(), chunk, sizeof chunk)) > 0;) {
      text.append(chunk, static_cast<std::size_t>(count));
    }
    return text;
  }
};

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  all.reserve(texts.size() + 1);
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

}  // namespace

Ended run_program(const std::string& program, const std::vector<std::string>& arguments,
                  const std::string& input, const std::vector<std::string>& environment) {
  const Stream in;
  const Stream out;
  const Stream err;
  in.write(input);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.descriptor(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.descriptor(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.descriptor(), STDERR_FILENO);
  std::vector<std::string> words = arguments;
  words.insert(words.begin(), program);
  std::vector<std::string> variables = environment;  // the first of a name wins in getenv
  variables.insert(variables.end(), {"LC_ALL=C.UTF-8", "TERM=xterm", "PATH=/usr/bin:/bin"});
  pid_t child = 0;
  const int failed = ::posix_spawn(&child, program.c_str(), &actions, nullptr,
                                   pointers(words).data(), pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  CHECK(failed == 0);
  int status = 0;
  CHECK(::waitpid(child, &status, 0) == child);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, out.read(), err.read()};
}

}  // namespace tangram::tests
