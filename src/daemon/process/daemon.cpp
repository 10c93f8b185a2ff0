// See daemon.hpp.
#include "daemon/process/daemon.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <spdlog/spdlog.h>
#include <systemd/sd-daemon.h>

#include "base/text.hpp"
#include "daemon/endpoints/endpoints.hpp"
#include "daemon/engine/engine.hpp"
#include "daemon/engine/tuning_text.hpp"
#include "daemon/gpus/hardware.hpp"
#include "daemon/leases/leases.hpp"
#include "daemon/log/log.hpp"
#include "daemon/moves/checkpoint_mover.hpp"
#include "daemon/moves/replica_mover.hpp"
#include "daemon/process/daemon_parts.hpp"
#include "daemon/process/supervisor_options.hpp"
#include "daemon/runs/cgroups.hpp"
#include "daemon/runs/supervisor.hpp"
#include "daemon/service/api_service.hpp"
#include "http/server/server.hpp"
#include "os/boot_id.hpp"
#include "os/install_paths.hpp"
#include "store/wal_sync.hpp"

namespace tangram::daemon {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kReservedFds = 256;
constexpr std::chrono::milliseconds kStopTimeout{1'000};  // for pending answers
constexpr std::chrono::milliseconds kStopPollInterval{5};

constexpr fs::perms kTraversable =  // 0711
    fs::perms::owner_all | fs::perms::group_exec | fs::perms::others_exec;
constexpr fs::perms kListable =  // 0755
    kTraversable | fs::perms::group_read | fs::perms::others_read;

Result<void> make_folder(const std::string& path, fs::perms mode) {
  std::error_code error;
  if (fs::create_directories(path, error)) fs::permissions(path, mode, error);
  if (!error && fs::is_directory(path, error)) return {};
  return failed(cat("cannot create directory ", tangram::quoted(path), ": ",
                    error ? error.message() : "exists and is not a directory", "."));
}

}  // namespace

Daemon::Daemon(Config config, std::optional<std::string> config_path)
    : config_(std::move(config)),
      config_path_(std::move(config_path)),
      parts_(std::make_unique<Parts>()) {}

Daemon::~Daemon() = default;

Result<void> Daemon::run() {
  fd_limit_ = raise_fd_limit();
  if (auto opened = open(); !opened) return opened;
  if (auto found = parts_->supervisor->find_orphans(); !found) return found;
  reconcile();
  parts_->hardware->start_polling();
  if (auto opened = open_server(); !opened) return opened;
  parts_->api->start_hooks();
  schedule_retention(kRetentionInterval);
  feed_watchdog();
  sd_notify(0, "READY=1");
  spdlog::info("tangramd {} ready: {} GPUs, socket {}", TANGRAM_VERSION,
               parts_->hardware->gpus().size(), config_.socket);
  parts_->loop.run();
  if (!parts_->engine->is_sync_idle()) {
    spdlog::warn("fsync still pending at exit; the next start completes it");
    return {};
  }
  parts_->engine->close();
  parts_->api.reset();    // its connection to the store closes first:
  parts_->store.reset();  // the last one to close leaves no WAL behind
  spdlog::info("shutting down; jobs keep running");
  return {};
}

Result<void> Daemon::open_server() {
  http::ServerOptions options;
  options.socket = config_.socket;
  options.mode = config_.socket_mode;
  options.on_socket_wait = [](const std::string& message) { spdlog::warn("{}", message); };
  options.max_connections_per_user = config_.connections_per_user;
  options.max_connections = std::max(options.max_connections, 4 * options.max_connections_per_user);
  options.tcp = config_.tcp.listen;
  options.certificate = config_.tcp.certificate;
  options.key = config_.tcp.key;
  // A TLS connection uses two more descriptors internally; kReservedFds are for the store, the
  // driver and the shims.
  const std::size_t needed = options.max_connections + options.reserved_connections +
                             3 * (options.max_tcp_connections + options.max_unauthenticated) +
                             kReservedFds;
  if (fd_limit_.current < needed) {
    spdlog::warn(
        "open files limited to {}, up to {} may be needed: raise the hard limit (LimitNOFILE, "
        "ulimit -Hn), or clients may be refused",
        fd_limit_.current, needed);
  }
  auto server = http::Server::open(parts_->loop, options, parts_->api->handlers());
  if (!server) return std::unexpected(server.error());
  parts_->server = *std::move(server);
  return {};
}

// The NVML library, or the emulator with its state in the state folder.
Result<std::string> Daemon::library_path() const {
  if (config_.emulate.empty()) {
    return config_.library.empty() ? device::library_path() : config_.library;
  }
  setenv("TANGRAM_EMULATE", config_.emulate.c_str(), 1);
  if (getenv("TANGRAM_EMULATOR_STATE") == nullptr) {
    setenv("TANGRAM_EMULATOR_STATE", (config_.state_dir + "/emulated-node").c_str(), 1);
  }
  return os::emulated_library();
}

// Generated once and kept in the store; marks the processes of this node's jobs.
std::string Daemon::node_name() {
  const auto& facts = parts_->engine->facts();
  if (const auto at = facts.find("node"); at != facts.end()) return at->second;
  std::random_device random;
  std::string name;
  for (int i = 0; i < 8; ++i) name += "0123456789abcdef"[random() % 16];
  return name;
}

Result<void> Daemon::open() {
  if (auto opened = open_store(); !opened) return opened;
  const auto library = library_path();
  if (!library) return std::unexpected(library.error());
  if (auto opened = open_hardware(*library); !opened) return opened;
  const std::string node = node_name();
  if (auto opened = open_supervisor(*library, node); !opened) return opened;
  if (auto opened = open_movers(); !opened) return opened;
  auto api = ApiService::open(parts_->loop, *parts_->engine, *parts_->hardware, *parts_->supervisor,
                              *parts_->endpoints, parts_->cgroups, config_);
  if (!api) return std::unexpected(api.error());
  parts_->api = *std::move(api);
  // The first input, retried until the store can be written: the node's name finds what is left of
  // jobs, and the boot id detects a reboot.
  parts_->engine->post(Input{.event = core::WakeUp{}, .edit_rows = [node](JobTable& records) {
                               records.set_fact("node", node);
                               records.set_fact("boot", os::boot_id());
                             }});
  await_signal();
  return {};
}

// Creates the folders, opens the store and loads the engine from it.
Result<void> Daemon::open_store() {
  if (auto made = make_folder(config_.state_dir, kListable); !made) return made;
  for (const char* name : {"/runs", "/endpoints", "/checkpoints"}) {
    if (auto made = make_folder(config_.state_dir + name, kTraversable); !made) return made;
  }
  const std::string folder = fs::path(config_.socket).parent_path().string();
  if (!folder.empty()) {
    if (auto made = make_folder(folder, kListable); !made) return made;
  }
  auto store = store::Store::open(config_.state_dir + "/tangram.db", {});
  if (!store) return std::unexpected(store.error());
  parts_->store = *std::move(store);
  // Makes durable what an earlier daemon committed but did not sync, before anything follows from
  // it.
  const auto syncer = std::make_shared<store::WalSync>(*parts_->store);
  if (auto synced = syncer->sync(); !synced) return synced;
  parts_->engine = std::make_unique<Engine>(
      parts_->loop, *parts_->store,
      FsyncThread::Work{.sync = [syncer] { return syncer->sync(); },
                        .checkpoint = [syncer] { return syncer->checkpoint(); }});
  return parts_->engine->load(config_.tuning);
}

Result<void> Daemon::open_hardware(const std::string& library) {
  HardwareOptions options{.library = library,
                          .owned_file = config_.state_dir + "/owned",
                          .emulated = !config_.emulate.empty(),
                          .enable_mig_managed = config_.enable_mig == EnableMig::kManaged,
                          .enable_mig_all = config_.enable_mig == EnableMig::kAll,
                          .mig_gpus = config_.mig_gpus,
                          .change_time = config_.change_time,
                          .in_use_time = config_.in_use_time,
                          .poll_interval = config_.observe_every,
                          .fatal_xids = config_.fatal_xids};
  auto opened = Hardware::open(parts_->loop, *parts_->engine, std::move(options));
  if (!opened) {
    Error error = opened.error();
    if (config_.emulate.empty()) error.message += " To try tangramd: --emulate 4xA100-40GB.";
    return std::unexpected(std::move(error));
  }
  parts_->hardware = *std::move(opened);
  return {};
}

Result<void> Daemon::open_supervisor(const std::string& library, const std::string& node) {
  const auto shim = os::find_installed("tangram-shim", "libexec/tangram/tangram-shim");
  if (!shim) return std::unexpected(shim.error());
  auto cgroups = find_cgroups(config_.cgroup, node, *shim);
  if (!cgroups) return std::unexpected(cgroups.error());
  parts_->cgroups = *std::move(cgroups);
  if (config_.pam && geteuid() != 0) {
    return failed("jobs.pam: only a tangramd that runs as root can open PAM sessions.");
  }
  SupervisorOptions options = supervisor_options(config_, parts_->cgroups);
  options.shim = *shim;
  options.node = node;
  if (!config_.emulate.empty()) {
    options.emulated = {{"TANGRAM_NVML", library},
                        {"TANGRAM_EMULATE", config_.emulate},
                        {"TANGRAM_EMULATOR_STATE", getenv("TANGRAM_EMULATOR_STATE")}};
  }
  options.descriptors = fd_limit_.inherited;
  parts_->supervisor = std::make_unique<Supervisor>(parts_->loop, *parts_->engine,
                                                    *parts_->hardware, std::move(options));
  return {};
}

Result<void> Daemon::open_movers() {
  const auto program = os::find_installed("tangram-endpoint", "libexec/tangram/tangram-endpoint");
  if (!program) return std::unexpected(program.error());
  EndpointsOptions options;
  options.folder = config_.state_dir + "/endpoints";
  options.program = *program;
  options.host = config_.endpoints.host;
  options.first_port = config_.endpoints.first_port;
  options.last_port = config_.endpoints.last_port;
  options.limits = {.wait = config_.endpoints.wait,
                    .connect = config_.endpoints.connect,
                    .keep_alive = config_.endpoints.keep_alive,
                    .idle = config_.endpoints.idle,
                    .most_connections = config_.endpoints.most_connections};
  options.start_time = config_.start_time;
  options.scope = parts_->cgroups.scope;
  parts_->endpoints =
      std::make_unique<Endpoints>(parts_->loop, *parts_->engine, std::move(options));
  parts_->replica_mover = std::make_unique<ReplicaMover>(parts_->loop, *parts_->endpoints);
  parts_->checkpoint_mover =
      std::make_unique<CheckpointMover>(parts_->loop, *parts_->engine, *parts_->supervisor);
  parts_->supervisor->set_movers(*parts_->replica_mover, *parts_->checkpoint_mover);
  return {};
}

// Applies the keys of the configuration file that have changed since they were last applied. Keys
// that the file does not set stay as they are, whatever the default is.
void Daemon::apply_configured_tuning() {
  const std::string in_file = applied_text(config_.tuning_in_file);
  if (applied_tuning_.empty()) {
    const auto& facts = parts_->engine->facts();
    if (const auto at = facts.find("tuning"); at != facts.end()) applied_tuning_ = at->second;
  }
  if (in_file == applied_tuning_) return;
  const auto change = not_yet_applied(config_.tuning_in_file, applied_tuning_);
  applied_tuning_ = in_file;
  parts_->api->apply_configured_tuning(
      change, [in_file](JobTable& records) { records.set_fact("tuning", in_file); });
}

void Daemon::await_signal() {
  boost::asio::signal_set& signals = parts_->signals;
  std::signal(SIGPIPE, SIG_IGN);
  for (const int each : {SIGTERM, SIGINT, SIGHUP, SIGCHLD}) signals.add(each);
  signals.async_wait([this](const boost::system::error_code& error, int signal) {
    if (error) return;
    if (signal == SIGTERM || signal == SIGINT) {
      stop();
      return;
    }
    if (signal == SIGHUP) reload();
    if (signal == SIGCHLD) reap_children();
    await_signal();
  });
}

// A child that has ended is reported before it is reaped: until then the kernel gives neither its
// pid nor its process group to another process, so both can be signalled.
void Daemon::reap_children() {
  siginfo_t ended{};
  while (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid > 0) {
    const bool exited = ended.si_code == CLD_EXITED;
    parts_->api->on_child_ended(
        ended.si_pid, exited ? W_EXITCODE(ended.si_status, 0) : W_EXITCODE(0, ended.si_status));
    waitpid(ended.si_pid, nullptr, 0);
    ended = {};
  }
}

void Daemon::reload() {
  auto next = read_config(config_path_);
  if (!next) {
    spdlog::error("configuration not reloaded: {}", next.error().message);
    return;
  }
  // Options of the command line stay in effect.
  next->state_dir = config_.state_dir;
  next->socket = config_.socket;
  if (!config_.emulate.empty()) next->emulate = config_.emulate;
  for (const std::string& key : needs_restart(config_, *next)) {
    spdlog::warn("{} has changed: restart tangramd to apply it", key);
  }
  sd_notify(0, "RELOADING=1");
  set_log_level(next->log_level);
  config_.log_level = next->log_level;
  config_.tuning = next->tuning;
  config_.tuning_in_file = next->tuning_in_file;
  config_.fatal_xids = next->fatal_xids;
  config_.retention = next->retention;
  config_.lost_found_days = next->lost_found_days;
  config_.admins = next->admins;
  config_.only_admins_submit = next->only_admins_submit;
  config_.limits = next->limits;
  config_.linger = next->linger;
  config_.move_services = next->move_services;
  config_.hooks = next->hooks;
  parts_->api->reload(config_);
  parts_->hardware->set_fatal_xids(next->fatal_xids);
  parts_->supervisor->set_defaults(supervisor_options(*next, parts_->cgroups));
  apply_configured_tuning();
  const Tcp& tcp = next->tcp.listen.empty() ? config_.tcp : next->tcp;
  if (const auto renewed = parts_->server->reload_keys(tcp.certificate, tcp.key); !renewed) {
    spdlog::error("certificate not reloaded: {}", renewed.error().message);
  }
  sd_notify(0, "READY=1");
  spdlog::info("configuration reloaded");
}

// Waits a moment for the batch in flight, so that its callers are answered.
void Daemon::stop() {
  sd_notify(0, "STOPPING=1");
  stop_when_idle(std::chrono::steady_clock::now() + kStopTimeout, false);
}

void Daemon::stop_when_idle(std::chrono::steady_clock::time_point deadline, bool was_idle) {
  const bool is_idle = parts_->engine->is_idle();
  if ((is_idle && was_idle) || std::chrono::steady_clock::now() >= deadline) {
    parts_->server.reset();
    parts_->loop.stop();
    return;
  }
  parts_->stopping.expires_after(kStopPollInterval);
  parts_->stopping.async_wait([this, deadline, is_idle](const boost::system::error_code& error) {
    if (!error) stop_when_idle(deadline, is_idle);
  });
}

}  // namespace tangram::daemon
