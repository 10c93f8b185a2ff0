// See spawn.hpp.
#include "daemon/runs/spawn.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/json/parse.hpp>

#include "base/text.hpp"
#include "daemon/engine/crash_point.hpp"
#include "daemon/runs/systemd_scope.hpp"
#include "endpoint/process/folder.hpp"
#include "os/descriptor.hpp"
#include "os/spawn_attributes.hpp"
#include "shim/run_folder.hpp"

namespace tangram::daemon {
namespace {

constexpr int kReadyFd = 3;  // in the child
constexpr std::chrono::milliseconds kExitTimeout{5'000};

// Reads up to the first line feed, the end of the stream or the time limit.
std::string read_line(int fd, std::chrono::milliseconds time) {
  const auto until = std::chrono::steady_clock::now() + time;
  std::string text;
  while (text.find('\n') == std::string::npos && text.size() < (64U << 10U)) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        until - std::chrono::steady_clock::now());
    if (left.count() <= 0) break;
    pollfd waiting{.fd = fd, .events = POLLIN, .revents = 0};
    const int polled = poll(&waiting, 1, static_cast<int>(left.count()));
    if (polled < 0 && errno == EINTR) continue;
    if (polled <= 0) break;
    std::array<char, 4096> bytes{};
    const ssize_t count = read(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    text.append(bytes.data(), static_cast<std::size_t>(count));
  }
  return text;
}

// Starts the program with the writing end of the pipe as its only extra descriptor.
int spawn(std::string name, const std::string& program, const std::string& folder, int ready,
          pid_t& pid) {
  std::string fd_text = std::to_string(kReadyFd);
  std::string option = "--ready-fd";
  std::string where = folder;
  std::array<char*, 5> arguments = {name.data(), option.data(), fd_text.data(), where.data(),
                                    nullptr};
  std::array<char*, 1> environment = {nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
  posix_spawn_file_actions_adddup2(&actions, 0, 1);
  posix_spawn_file_actions_adddup2(&actions, 0, 2);
  posix_spawn_file_actions_adddup2(&actions, ready, kReadyFd);
  const os::SpawnAttributes attributes;
  const int error = posix_spawn(&pid, program.c_str(), &actions, attributes.get(), arguments.data(),
                                environment.data());
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

struct Started {
  std::string line;      // its first line; empty if it exited without one or took too long
  os::Descriptor ready;  // the stream ends when the process does
};

Result<Started> start(const char* name, const std::string& program, const std::string& folder,
                      std::chrono::milliseconds time, SystemdScope* scope) {
  if (scope != nullptr) {
    if (const auto ready = scope->ensure(); !ready) return std::unexpected(ready.error());
  }
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return failed(cat("cannot start ", name, ": ", std::strerror(errno), "."));
  }
  os::Descriptor reading(ends[0]);
  os::Descriptor writing(ends[1]);
  // dup2 onto itself would keep it close-on-exec.
  if (writing.get() == kReadyFd) writing = os::Descriptor(fcntl(kReadyFd, F_DUPFD_CLOEXEC, 10));
  pid_t pid = 0;
  const int error = spawn(name, program, folder, writing.get(), pid);
  if (error != 0) {
    return failed(cat("cannot start ", tangram::quoted(program), ": ", std::strerror(error), "."));
  }
  if (scope != nullptr) scope->add(pid);
  crash_after_action("spawned");
  writing = os::Descriptor(-1);
  std::string line = read_line(reading.get(), time);
  return Started{std::move(line), std::move(reading)};
}

// The message of a line {"error": "…"}.
std::optional<std::string> error_in(const std::string& line) {
  boost::system::error_code bad;
  const boost::json::value message = boost::json::parse(line, bad);
  const auto* why =
      !bad && message.is_object() ? message.get_object().if_contains("error") : nullptr;
  if (why == nullptr || !why->is_string()) return std::nullopt;
  return std::string(why->get_string());
}

// Whether the port can be bound on all addresses, IPv6 ones, too, unless there is no IPv6.
// `beside`: next to sockets that do not listen and permit it (SO_REUSEADDR).
bool can_bind(std::uint16_t port, bool beside) {
  os::Descriptor socket(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const bool is_v6 = socket.ok();
  if (!is_v6) socket = os::Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  const int off = 0;
  if (beside) setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (is_v6) {
    setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    sockaddr_in6 where{};
    where.sin6_family = AF_INET6;
    where.sin6_port = htons(port);
    return bind(socket.get(), reinterpret_cast<const sockaddr*>(&where), sizeof where) == 0;
  }
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_port = htons(port);
  return socket.ok() &&
         bind(socket.get(), reinterpret_cast<const sockaddr*>(&where), sizeof where) == 0;
}

std::optional<api::TaskOfArray> task_of(const store::JobRow& job) {
  if (job.array == 0) return std::nullopt;
  return api::TaskOfArray{.array = job.array, .index = job.array_index};
}

void add_array_variables(const api::TaskOfArray& task, const api::JobRequest& request,
                         std::map<std::string, std::string>& environment) {
  environment["TANGRAM_ARRAY_ID"] = std::to_string(task.array);
  environment["TANGRAM_ARRAY_INDEX"] = std::to_string(task.index);
  if (!request.array) return;
  const api::ArrayIndices& indices = request.array->indices;
  environment["TANGRAM_ARRAY_COUNT"] = std::to_string(indices.size());
  environment["TANGRAM_ARRAY_MIN"] = std::to_string(indices.front());
  environment["TANGRAM_ARRAY_MAX"] = std::to_string(indices.back());
}

}  // namespace

Result<void> start_shim(const std::string& program, const std::string& folder,
                        std::chrono::milliseconds time, SystemdScope* scope) {
  const auto started = start("tangram-shim", program, folder, time, scope);
  if (!started) return std::unexpected(started.error());
  const auto exit = shim::read_exit(folder);
  if (shim::was_started(folder) || shim::is_shim_running(folder) || (exit && *exit)) return {};
  const auto why = error_in(started->line);
  return failed(
      why ? cat("cannot start the job: ", *why)
          : cat("tangram-shim in ", tangram::quoted(folder), " exited without reporting why."));
}

Result<void> start_endpoint(const std::string& program, const std::string& folder,
                            std::chrono::milliseconds time, SystemdScope* scope) {
  const auto started = start("tangram-endpoint", program, folder, time, scope);
  if (!started) return std::unexpected(started.error());
  const auto why = error_in(started->line);
  // An endpoint that reports an error is about to exit and holds the folder until then.
  if (why) (void)read_line(started->ready.get(), kExitTimeout);
  // An endpoint of an earlier start that timed out may be running.
  if (endpoint::is_endpoint_running(folder)) return {};
  if (why) return failed(*why);
  return failed(
      cat("tangram-endpoint in ", tangram::quoted(folder), " exited without reporting why."));
}

bool has_no_listener(std::uint16_t port) { return can_bind(port, true); }

bool is_port_unbound(std::uint16_t port) { return can_bind(port, false); }

api::RunSpec make_spec(const store::JobRow& job, const api::JobRequest& request,
                       const store::RunRow& run, std::optional<std::uint16_t> port) {
  api::RunSpec spec;
  spec.job = job.id;
  spec.run = run.run;
  spec.command = request.command;
  spec.environment = request.environment;
  auto& environment = spec.environment;
  environment["CUDA_VISIBLE_DEVICES"] = run.mig_uuid;
  environment["NVIDIA_VISIBLE_DEVICES"] = run.mig_uuid;
  environment["TANGRAM_JOB_ID"] = std::to_string(job.id);
  environment["TANGRAM_JOB_NAME"] = job.name;
  environment["TANGRAM_RUN_ID"] = std::to_string(run.run);
  environment["TANGRAM_PROFILE"] = run.profile;
  environment["TANGRAM_GPU"] = std::to_string(run.gpu);
  environment["TANGRAM_START"] = std::to_string(run.start);
  environment["TANGRAM_MIG_UUID"] = run.mig_uuid;
  environment["TANGRAM_CDI_DEVICE"] = cdi_name(run.mig_uuid);
  environment["TANGRAM_RESTARTS"] = std::to_string(job.restarts);
  const auto task = task_of(job);
  if (task) add_array_variables(*task, request, environment);
  if (port) environment["PORT"] = std::to_string(*port);
  spec.directory = request.directory;
  // Both patterns were checked with the request.
  spec.output = api::output_path(request.output, job.id, task).value_or("");
  spec.error = api::output_path(request.error, job.id, task).value_or("");
  if (spec.error.empty()) spec.error = spec.output;
  spec.umask = request.umask.value_or(022);
  spec.resource_limits = request.resource_limits;
  spec.time_limit = request.time_limit;
  if (request.probe.kind == api::Probe::Kind::kCommand) spec.probe_command = request.probe.command;
  spec.probe_timeout = request.probe.timeout;
  spec.cpu_percent = request.cpu_percent;
  spec.memory_bytes = request.memory_bytes;
  return spec;
}

}  // namespace tangram::daemon
