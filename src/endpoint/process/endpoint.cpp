// See endpoint.hpp.
#include "endpoint/process/endpoint.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <expected>
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "base/text.hpp"
#include "endpoint/http/keep_alive_pool.hpp"
#include "endpoint/process/privileges.hpp"
#include "endpoint/relay/relay.hpp"
#include "os/detach.hpp"
#include "os/failure.hpp"

namespace tangram::endpoint {
namespace {

namespace json = boost::json;

constexpr std::uint64_t kMinConnections = 16;  // never reduced below this

struct Refusal {
  EndpointExit code = EndpointExit::kFailed;
  std::string reason;
};

std::unexpected<Refusal> refuse(EndpointExit code, std::string reason) {
  return std::unexpected(Refusal{code, std::move(reason)});
}

os::Descriptor arrange_signals() {
  struct sigaction ignored{};
  ignored.sa_handler = SIG_IGN;
  for (const int signal : {SIGHUP, SIGPIPE, SIGXFSZ, SIGUSR1, SIGUSR2, SIGQUIT, SIGTSTP}) {
    ::sigaction(signal, &ignored, nullptr);
  }
  sigset_t ending;
  ::sigemptyset(&ending);
  for (const int signal : {SIGTERM, SIGINT}) ::sigaddset(&ending, signal);
  ::sigprocmask(SIG_SETMASK, &ending, nullptr);
  return os::Descriptor(::signalfd(-1, &ending, SFD_CLOEXEC | SFD_NONBLOCK));
}

// Redirects the standard streams to /dev/null, so that no reader of them waits for the endpoint.
void detach_streams() {
  const os::Descriptor null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(null.get(), fd);
}

void report_ready(os::Descriptor ready, const json::object& status) {
  if (!ready.ok()) return;
  const std::string line = json::serialize(status) + "\n";
  [[maybe_unused]] const ssize_t written = ::write(ready.get(), line.data(), line.size());
}

// Two descriptors per client (its own connection and one to the replica), the keep-alive pool, and
// the endpoint's own files.
std::uint64_t descriptors_for(std::uint64_t connections) {
  constexpr std::uint64_t kOwn = 64;
  return kOwn + 2 * connections + max_pooled_connections(connections);
}

void limit_to_open_files(api::EndpointSpec& spec, Log& log) {
  const std::uint64_t files = raise_file_limit();
  std::uint64_t most = spec.most_connections;
  while (most > kMinConnections && descriptors_for(most) > files) --most;
  if (spec.most_connections <= most) return;
  log.write(cat("reduced max connections from ", spec.most_connections, " to ", most,
                ": the limit of open files (nofile) is ", files));
  spec.most_connections = static_cast<std::uint32_t>(most);
}

struct Prepared {
  os::Descriptor lock;
  api::EndpointSpec spec;
  Relay::Parts parts;
};

// Does everything that needs the privileges of the user who started the endpoint.
std::expected<Prepared, Refusal> prepare(const std::string& path, int folder) {
  auto lock = lock_endpoint_folder(folder);
  if (!lock) {
    const bool is_held = lock.error().code == ErrorCode::kUnavailable;
    return refuse(is_held ? EndpointExit::kAlreadyRunning : EndpointExit::kFailed,
                  lock.error().message);
  }
  auto spec = read_endpoint_folder(path);
  if (!spec) return refuse(EndpointExit::kBadSpec, spec.error().message);
  auto address = listen_at(spec->host, spec->port);
  if (!address) return refuse(EndpointExit::kCannotListen, address.error().message);
  auto control = open_control(folder);
  if (!control) return refuse(EndpointExit::kFailed, control.error().message);
  const uid_t service = spec->user && ::geteuid() == 0 ? spec->user->uid : ::geteuid();
  return Prepared{*std::move(lock), *std::move(spec),
                  Relay::Parts{.address = *std::move(address),
                               .control = *std::move(control),
                               .signals = os::Descriptor(-1),
                               .owner_uid = ::geteuid(),
                               .service_uid = service}};
}

std::expected<void, Refusal> serve(const std::string& path, int folder, os::Descriptor& ready,
                                   os::Descriptor signals) {
  Log log(folder);
  auto prepared = prepare(path, folder);
  if (!prepared) {
    log.write(prepared.error().reason);
    return std::unexpected(prepared.error());
  }
  prepared->parts.signals = std::move(signals);
  limit_to_open_files(prepared->spec, log);
  if (auto done = drop_privileges(prepared->spec.user, log); !done) {
    log.write(done.error().message);
    return refuse(EndpointExit::kFailed, done.error().message);
  }
  const std::uint16_t port = prepared->parts.address.port;
  log.write(cat("serving job ", prepared->spec.job, " (", api::name_of(prepared->spec.mode),
                ") on ", prepared->spec.host, " port ", port, ", pid ", ::getpid()));
  Relay relay(prepared->spec, log, std::move(prepared->parts));
  detach_streams();
  report_ready(std::exchange(ready, os::Descriptor(-1)), {{"ready", true}, {"port", port}});
  relay.run();
  log.write("ended");
  return {};
}

}  // namespace

EndpointExit run_endpoint(const os::StartArguments& arguments) {
  os::open_standard_streams();
  os::close_other_descriptors(arguments.ready_fd);
  os::Descriptor ready(arguments.ready_fd);
  os::Descriptor signals = arrange_signals();
  os::start_session();
  ::umask(0);  // every file is created with an explicit mode
  const os::Descriptor folder(::open(arguments.folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::expected<void, Refusal> served = refuse(
      EndpointExit::kBadSpec, cat("cannot open the endpoint's folder ",
                                  tangram::quoted(arguments.folder), ": ", os::errno_text(errno)));
  if (folder.ok()) {
    std::error_code ignored;  // on failure the path stays relative, and reading it fails below
    const std::string path = std::filesystem::absolute(arguments.folder, ignored).string();
    [[maybe_unused]] const int entered = ::chdir("/");  // keeps no file system from being unmounted
    served = serve(path, folder.get(), ready, std::move(signals));
  }
  if (served) return EndpointExit::kDone;
  const std::string message = cat("tangram-endpoint: ", served.error().reason, "\n");
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, message.data(), message.size());
  report_ready(std::move(ready), {{"ready", false}, {"error", served.error().reason}});
  return served.error().code;
}

}  // namespace tangram::endpoint
