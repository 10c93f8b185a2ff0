// See endpoint.hpp.
#include "endpoint/endpoint.hpp"

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
#include "endpoint/pool.hpp"
#include "endpoint/relay.hpp"
#include "endpoint/rights.hpp"
#include "files/failure.hpp"
#include "files/inherited.hpp"

namespace tangram::endpoint {
namespace {

namespace json = boost::json;

constexpr std::uint64_t kFewest = 16;  // connections; fewer are no service

struct Refusal {
  EndpointExit code = EndpointExit::kFailed;
  std::string reason;
};

std::unexpected<Refusal> refuse(EndpointExit code, std::string reason) {
  return std::unexpected(Refusal{code, std::move(reason)});
}

files::Descriptor arrange_signals() {
  struct sigaction ignored{};
  ignored.sa_handler = SIG_IGN;
  for (const int signal : {SIGHUP, SIGPIPE, SIGXFSZ, SIGUSR1, SIGUSR2, SIGQUIT, SIGTSTP}) {
    ::sigaction(signal, &ignored, nullptr);
  }
  sigset_t ending;
  ::sigemptyset(&ending);
  for (const int signal : {SIGTERM, SIGINT}) ::sigaddset(&ending, signal);
  ::sigprocmask(SIG_SETMASK, &ending, nullptr);
  return files::Descriptor(::signalfd(-1, &ending, SFD_CLOEXEC | SFD_NONBLOCK));
}

// Nobody who started us may be waited for, or waits for us, by an open file.
void detach_streams() {
  const files::Descriptor null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(null.get(), fd);
}

void tell_ready(files::Descriptor ready, const json::object& words) {
  if (!ready.ok()) return;
  const std::string line = json::serialize(words) + "\n";
  [[maybe_unused]] const ssize_t written = ::write(ready.get(), line.data(), line.size());
}

// A client needs two descriptors, his own and one to the replica; some connections to the replica
// are kept; some descriptors are the endpoint's own.
std::uint64_t files_for(std::uint64_t connections) {
  constexpr std::uint64_t kOwn = 64;
  return kOwn + 2 * connections + most_pooled(connections);
}

void fit_to_file_limit(api::EndpointSpec& spec, Log& log) {
  const std::uint64_t files = raise_file_limit();
  std::uint64_t most = spec.most_connections;
  while (most > kFewest && files_for(most) > files) --most;
  if (spec.most_connections <= most) return;
  log.note(cat("serves ", most, " connections at once, not ", spec.most_connections,
               ": the limit of open files (nofile) is ", files));
  spec.most_connections = static_cast<std::uint32_t>(most);
}

struct Prepared {
  files::Descriptor lock;
  api::EndpointSpec spec;
  Relay::Parts parts;
};

// Everything that needs the rights of who started it.
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
  return Prepared{*std::move(lock), *std::move(spec),
                  Relay::Parts{.address = *std::move(address),
                               .control = *std::move(control),
                               .signals = files::Descriptor(-1),
                               .master = ::geteuid()}};
}

std::expected<void, Refusal> serve(const std::string& path, int folder, files::Descriptor& ready,
                                   files::Descriptor signals) {
  Log log(folder);
  auto prepared = prepare(path, folder);
  if (!prepared) {
    log.note(prepared.error().reason);
    return std::unexpected(prepared.error());
  }
  prepared->parts.signals = std::move(signals);
  fit_to_file_limit(prepared->spec, log);
  if (auto done = give_up_rights(prepared->spec.user); !done) {
    log.note(done.error().message);
    return refuse(EndpointExit::kFailed, done.error().message);
  }
  const std::uint16_t port = prepared->parts.address.port;
  log.note(cat("serves job ", prepared->spec.job, " by ", api::name_of(prepared->spec.mode), " on ",
               prepared->spec.host, " port ", port, ", pid ", ::getpid()));
  Relay relay(prepared->spec, log, std::move(prepared->parts));
  detach_streams();
  tell_ready(std::exchange(ready, files::Descriptor(-1)), {{"ready", true}, {"port", port}});
  relay.run();
  log.note("ended");
  return {};
}

}  // namespace

EndpointExit run_endpoint(const files::StartArguments& arguments) {
  files::fill_standard_streams();
  files::close_all_but(arguments.ready_fd);
  files::Descriptor ready(arguments.ready_fd);
  files::Descriptor signals = arrange_signals();
  files::make_session();
  ::umask(0);  // modes are said where files are made
  const files::Descriptor folder(
      ::open(arguments.folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::expected<void, Refusal> served = refuse(
      EndpointExit::kBadSpec, cat("cannot open the endpoint's folder ",
                                  tangram::quoted(arguments.folder), ": ", files::why(errno), "."));
  if (folder.ok()) {
    std::error_code ignored;  // a relative path is then seen from "/", and reading it fails
    const std::string path = std::filesystem::absolute(arguments.folder, ignored).string();
    [[maybe_unused]] const int entered = ::chdir("/");  // so that no folder is kept from its owner
    served = serve(path, folder.get(), ready, std::move(signals));
  }
  if (served) return EndpointExit::kDone;
  const std::string note = cat("tangram-endpoint: ", served.error().reason, "\n");
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, note.data(), note.size());
  tell_ready(std::move(ready), {{"ready", false}, {"error", served.error().reason}});
  return served.error().code;
}

}  // namespace tangram::endpoint
