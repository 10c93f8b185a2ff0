// See plot.hpp.
#include "lab/plot.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.hpp"

namespace tangram::lab {
namespace {

struct Pipe {
  int read = -1;
  int write = -1;
  Pipe() = default;
  ~Pipe() {
    if (read >= 0) close(read);
    if (write >= 0) close(write);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  Pipe(Pipe&&) = delete;
  Pipe& operator=(Pipe&&) = delete;
  bool open() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return false;
    read = ends[0];
    write = ends[1];
    return true;
  }
};

// Reads both pipes until they are closed, so that neither side blocks the other.
void drain(int out, int err, std::string& text, std::string& errors) {
  std::array<pollfd, 2> ends{pollfd{out, POLLIN, 0}, pollfd{err, POLLIN, 0}};
  int open_ends = 2;
  std::array<char, 1U << 16U> buffer{};
  while (open_ends > 0) {
    if (poll(ends.data(), ends.size(), -1) < 0 && errno != EINTR) return;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      if (ends[i].fd < 0 || ends[i].revents == 0) continue;
      const ssize_t n = read(ends[i].fd, buffer.data(), buffer.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) {
        ends[i].fd = -1;
        --open_ends;
        continue;
      }
      (i == 0 ? text : errors).append(buffer.data(), static_cast<std::size_t>(n));
    }
  }
}

// Joins gnuplot's lines (it draws an arrow below the error) into one.
std::string one_line(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool blank = c == '\n' || c == ' ' || c == '\t';
    if (!blank) out += c;
    if (blank && !out.empty() && out.back() != ' ') out += ' ';
  }
  return out.substr(0, out.find_last_not_of(' ') + 1);
}

struct Outcome {
  std::string text;
  std::string errors;
  int status = 0;
};

Result<Outcome> run_gnuplot(const std::string& directory, const char* argument) {
  Pipe out;
  Pipe err;
  if (!out.open() || !err.open())
    return failed(cat("cannot create a pipe: ", std::strerror(errno)));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out.write, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.write, STDERR_FILENO);
  posix_spawn_file_actions_addchdir_np(&actions, directory.c_str());
  std::string program = "gnuplot";
  std::string script = argument;
  std::array<char*, 3> argv{program.data(), script.data(), nullptr};
  pid_t pid = 0;
  const int spawned = posix_spawnp(&pid, "gnuplot", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (spawned != 0) {
    return failed(cat("cannot run gnuplot: ", std::strerror(spawned),
                      ". The plots need it: apt install gnuplot-nox, or use --no-plots."));
  }
  close(out.write);
  close(err.write);
  out.write = err.write = -1;
  Outcome outcome;
  drain(out.read, err.read, outcome.text, outcome.errors);
  while (waitpid(pid, &outcome.status, 0) < 0 && errno == EINTR) {
  }
  return outcome;
}

}  // namespace

Result<void> find_gnuplot() {
  const auto outcome = run_gnuplot(".", "--version");
  if (!outcome) return std::unexpected(outcome.error());
  if (outcome->status == 0) return {};
  return failed(
      "gnuplot --version failed. The plots need it: apt install gnuplot-nox, or use --no-plots.");
}

Result<std::string> plot_svg(std::string_view script, const std::string& directory,
                             std::string_view what) {
  const std::string name = cat(what, ".gp");
  {
    std::ofstream file(std::filesystem::path(directory) / name, std::ios::binary);
    file << script;
    if (!file.flush()) return failed(cat("cannot write ", directory, "/", name, "."));
  }
  auto outcome = run_gnuplot(directory, name.c_str());
  if (!outcome) return std::unexpected(outcome.error());
  const std::size_t svg = outcome->text.find("<svg");
  if (outcome->status != 0 || svg == std::string::npos) {
    return failed(cat("gnuplot could not draw ", what, ": ",
                      printable(one_line(outcome->errors).substr(0, 500))));
  }
  return outcome->text.substr(svg);
}

}  // namespace tangram::lab
