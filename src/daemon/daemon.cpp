// See daemon.hpp.
#include "daemon/daemon.hpp"

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
#include <boost/json/serialize.hpp>
#include <spdlog/spdlog.h>
#include <systemd/sd-daemon.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "daemon/cgroups.hpp"
#include "daemon/checkpoint_mover.hpp"
#include "daemon/daemon_parts.hpp"
#include "daemon/endpoints.hpp"
#include "daemon/engine.hpp"
#include "daemon/front.hpp"
#include "daemon/hardware.hpp"
#include "daemon/leases.hpp"
#include "daemon/log.hpp"
#include "daemon/replica_mover.hpp"
#include "daemon/supervisor.hpp"
#include "daemon/tuning_text.hpp"
#include "files/boot_id.hpp"
#include "files/installed.hpp"
#include "http/server.hpp"
#include "policies/registry.hpp"
#include "store/syncer.hpp"

namespace tangram::daemon {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kTrimEvery{60'000};
constexpr std::chrono::milliseconds kTrimAgain{200};
constexpr std::size_t kOwnDescriptors = 256;
constexpr std::chrono::milliseconds kLastAnswers{1'000};
constexpr std::chrono::milliseconds kLookAgain{5};

Result<void> make_folder(const std::string& path, fs::perms mode) {
  std::error_code error;
  if (fs::create_directories(path, error)) fs::permissions(path, mode, error);
  if (!error && fs::is_directory(path, error)) return {};
  return failed(cat("cannot make the folder ", tangram::quoted(path), ": ",
                    error ? error.message() : "it is there and no folder", "."));
}

SupervisorOptions supervisor_options(const Config& config) {
  SupervisorOptions options;
  options.runs = config.state_dir + "/runs";
  options.checkpoints = config.state_dir + "/checkpoints";
  options.grace = config.grace;
  options.start_time = config.start_time;
  options.log_bytes = config.log_bytes;
  options.log_files = config.log_files;
  options.first_port = config.first_port;
  options.last_port = config.last_port;
  return options;
}

}  // namespace

Daemon::Daemon(Config config, std::optional<std::string> config_path)
    : config_(std::move(config)),
      config_path_(std::move(config_path)),
      parts_(std::make_unique<Parts>()) {}

Daemon::~Daemon() = default;

Result<void> Daemon::run() {
  descriptors_ = raise_descriptors();
  if (auto opened = open(); !opened) return opened;
  agree();
  parts_->hardware->watch();
  http::ServerOptions options;
  options.socket = config_.socket;
  options.mode = config_.socket_mode;
  options.most_per_user = config_.connections_per_user;
  options.most_connections = std::max(options.most_connections, 4 * options.most_per_user);
  options.tcp = config_.tcp.listen;
  options.certificate = config_.tcp.certificate;
  options.key = config_.tcp.key;
  // A connection over TLS has two more inside; some are the store's, the driver's and the shims'.
  const std::size_t needed = options.most_connections + options.reserved_connections +
                             3 * (options.most_tcp_connections + options.most_strangers) +
                             kOwnDescriptors;
  if (descriptors_.most < needed) {
    spdlog::warn(
        "tangramd may open {} files, and {} could be needed: raise the hard limit "
        "(LimitNOFILE, ulimit -Hn), or many callers at once keep others out",
        descriptors_.most, needed);
  }
  auto server = http::Server::open(parts_->loop, options, parts_->front->doors());
  if (!server) return std::unexpected(server.error());
  parts_->server = *std::move(server);
  trim_later(kTrimEvery);
  feed_watchdog();
  sd_notify(0, "READY=1");
  spdlog::info("tangramd {} serves {} GPUs on {}", TANGRAM_VERSION, parts_->hardware->gpus().size(),
               config_.socket);
  parts_->loop.run();
  if (!parts_->engine->disk_rests()) {
    spdlog::warn("the disk does not answer; what it has not taken in, the next start gives it");
    return {};
  }
  parts_->engine->close();
  parts_->store.reset();
  spdlog::info("tangramd ends; its jobs go on");
  return {};
}

// The real library, or the emulated one with its node in the state folder.
Result<std::string> Daemon::library() {
  if (config_.emulate.empty()) {
    return config_.library.empty() ? device::library_path() : config_.library;
  }
  setenv("TANGRAM_EMULATE", config_.emulate.c_str(), 1);
  if (getenv("TANGRAM_EMULATOR_STATE") == nullptr) {
    setenv("TANGRAM_EMULATOR_STATE", (config_.state_dir + "/emulated-node").c_str(), 1);
  }
  return files::emulated_library();
}

// Given once, kept in the store: it marks the processes of this daemon's jobs.
std::string Daemon::node_name() {
  const auto& facts = parts_->engine->facts();
  if (const auto at = facts.find("node"); at != facts.end()) return at->second;
  std::random_device random;
  std::string name;
  for (int i = 0; i < 8; ++i) name += "0123456789abcdef"[random() % 16];
  return name;
}

Result<void> Daemon::open() {
  if (auto made = make_folder(config_.state_dir, fs::perms(0755)); !made) return made;
  if (auto made = make_folder(config_.state_dir + "/runs", fs::perms(0711)); !made) return made;
  if (auto made = make_folder(config_.state_dir + "/endpoints", fs::perms(0711)); !made)
    return made;
  if (auto made = make_folder(config_.state_dir + "/checkpoints", fs::perms(0711)); !made) {
    return made;
  }
  const std::string folder = fs::path(config_.socket).parent_path().string();
  if (!folder.empty()) {
    if (auto made = make_folder(folder, fs::perms(0755)); !made) return made;
  }
  auto store = store::Store::open(config_.state_dir + "/tangram.db", {});
  if (!store) return std::unexpected(store.error());
  parts_->store = *std::move(store);
  // What the daemon before has not put on the disk any more: everything follows from it.
  const auto syncer = std::make_shared<store::Syncer>(*parts_->store);
  if (auto synced = syncer->sync(); !synced) return synced;
  parts_->engine = std::make_unique<Engine>(
      parts_->loop, *parts_->store,
      Disk::Work{[syncer] { return syncer->sync(); }, [syncer] { return syncer->shorten_log(); }});
  if (auto loaded = parts_->engine->load(config_.tuning); !loaded) return loaded;

  const auto path = library();
  if (!path) return std::unexpected(path.error());
  HardwareOptions hardware{.library = *path,
                           .owned_file = config_.state_dir + "/owned",
                           .emulated = !config_.emulate.empty(),
                           .enable_mig = config_.enable_mig,
                           .change_time = config_.change_time,
                           .in_use_time = config_.in_use_time,
                           .observe_every = config_.observe_every,
                           .fatal_xids = config_.fatal_xids};
  auto opened = Hardware::open(parts_->loop, *parts_->engine, std::move(hardware));
  if (!opened) {
    Error error = opened.error();
    if (config_.emulate.empty()) error.message += " To try tangramd: --emulate 4xA100-40GB.";
    return std::unexpected(std::move(error));
  }
  parts_->hardware = *std::move(opened);

  const std::string node = node_name();
  auto cgroups = find_cgroups(config_.cgroup, node);
  if (!cgroups) return std::unexpected(cgroups.error());
  parts_->cgroups = *std::move(cgroups);
  SupervisorOptions options = supervisor_options(config_);
  const auto shim = files::find_installed("tangram-shim", "libexec/tangram/tangram-shim");
  if (!shim) return std::unexpected(shim.error());
  options.shim = *shim;
  options.node = node;
  options.cgroup = parts_->cgroups.folder;
  if (!config_.emulate.empty()) {
    options.emulated = {{"TANGRAM_NVML", *path},
                        {"TANGRAM_EMULATE", config_.emulate},
                        {"TANGRAM_EMULATOR_STATE", getenv("TANGRAM_EMULATOR_STATE")}};
  }
  options.descriptors = descriptors_.given;
  parts_->supervisor = std::make_unique<Supervisor>(parts_->loop, *parts_->engine,
                                                    *parts_->hardware, std::move(options));
  if (auto made = open_movers(); !made) return made;
  auto front = Front::open(parts_->loop, *parts_->engine, *parts_->hardware, *parts_->supervisor,
                           *parts_->endpoints, parts_->cgroups, config_);
  if (!front) return std::unexpected(front.error());
  parts_->front = *std::move(front);
  // First of all, and tried again if the store cannot be written: what is left of a job is found by
  // the node's name, and a reboot by the boot's.
  parts_->engine->post(Input{.event = core::WakeUp{}, .note = [node](Records& records) {
                               records.set_fact("node", node);
                               records.set_fact("boot", files::boot_id());
                             }});
  listen_to_signals();
  return {};
}

// The endpoints of services, and how jobs are moved.
Result<void> Daemon::open_movers() {
  const auto program =
      files::find_installed("tangram-endpoint", "libexec/tangram/tangram-endpoint");
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
  parts_->endpoints =
      std::make_unique<Endpoints>(parts_->loop, *parts_->engine, std::move(options));
  parts_->replica_mover = std::make_unique<ReplicaMover>(parts_->loop, *parts_->endpoints);
  parts_->checkpoint_mover =
      std::make_unique<CheckpointMover>(parts_->loop, *parts_->engine, *parts_->supervisor);
  parts_->supervisor->use(*parts_->replica_mover, *parts_->checkpoint_mover);
  return {};
}

// The file has the last word when it says something new; else what was tuned at run time stays.
void Daemon::take_over_tuning() {
  const std::string said = boost::json::serialize(api::to_json(view_of(config_.tuning)));
  if (tuning_said_.empty()) {
    const auto& facts = parts_->engine->facts();
    if (const auto at = facts.find("tuning"); at != facts.end()) tuning_said_ = at->second;
  }
  if (said == tuning_said_) return;
  tuning_said_ = said;
  const auto policies = policies::find_policies(config_.tuning);
  CHECK(policies.has_value());  // the configuration was checked
  const bool is_so = parts_->engine->scheduler().node().tuning() == config_.tuning;
  const auto note = [said](Records& records) { records.set_fact("tuning", said); };
  if (is_so) {
    parts_->engine->post(Input{.event = core::WakeUp{}, .note = note});
  } else {
    parts_->engine->post(
        Input{.event = core::TuningChanged{config_.tuning, *policies}, .note = note});
  }
}

void Daemon::listen_to_signals() {
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
    if (signal == SIGCHLD) {
      while (waitpid(-1, nullptr, WNOHANG) > 0) {
      }
    }
    listen_to_signals();
  });
}

void Daemon::reload() {
  auto next = read_config(config_path_);
  if (!next) {
    spdlog::error("the configuration was not taken over: {}", next.error().message);
    return;
  }
  // What the command line said at the start stays said.
  next->state_dir = config_.state_dir;
  next->socket = config_.socket;
  if (!config_.emulate.empty()) next->emulate = config_.emulate;
  for (const std::string& key : needs_restart(config_, *next)) {
    spdlog::warn("{} has changed; it needs a restart of tangramd", key);
  }
  sd_notify(0, "RELOADING=1");
  set_log_level(next->log_level);
  config_.log_level = next->log_level;
  config_.tuning = next->tuning;
  config_.fatal_xids = next->fatal_xids;
  config_.retention = next->retention;
  config_.admins = next->admins;
  config_.only_admins_submit = next->only_admins_submit;
  config_.limits = next->limits;
  config_.linger = next->linger;
  parts_->front->reload(config_);
  parts_->hardware->set_fatal_xids(next->fatal_xids);
  parts_->supervisor->set_defaults(supervisor_options(*next));
  take_over_tuning();
  const Tcp& tcp = next->tcp.listen.empty() ? config_.tcp : next->tcp;
  if (const auto renewed = parts_->server->reload_keys(tcp.certificate, tcp.key); !renewed) {
    spdlog::error("the certificate was not read again: {}", renewed.error().message);
  }
  sd_notify(0, "READY=1");
  spdlog::info("the configuration was read again");
}

// Whoever has asked for something that is on its way to the disk hears of it, if that is soon.
void Daemon::stop() {
  sd_notify(0, "STOPPING=1");
  stop_by(std::chrono::steady_clock::now() + kLastAnswers, false);
}

void Daemon::stop_by(std::chrono::steady_clock::time_point deadline, bool was_settled) {
  const bool settled = parts_->engine->settled();
  if ((settled && was_settled) || std::chrono::steady_clock::now() >= deadline) {
    parts_->server.reset();
    parts_->loop.stop();
    return;
  }
  parts_->stopping.expires_after(kLookAgain);
  parts_->stopping.async_wait([this, deadline, settled](const boost::system::error_code& error) {
    if (!error) stop_by(deadline, settled);
  });
}

void Daemon::trim_later(std::chrono::milliseconds wait) {
  parts_->trim.expires_after(wait);
  parts_->trim.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    parts_->engine->between_batches([this] { trim(); });
  });
}

void Daemon::trim() {
  const auto now = parts_->calendar.look(Clock::wall(), Clock::since_boot());
  const auto trimmed = parts_->store->trim(config_.retention, now);
  if (!trimmed) {
    spdlog::error("{}", trimmed.error().message);
  } else if (!trimmed->runs.empty() || !trimmed->jobs.empty() || trimmed->more) {
    // Folders once the disk knows that they are to go.
    parts_->engine->post(
        Input{.event = core::WakeUp{}, .done = [this, gone = *trimmed](const Result<void>&) {
                parts_->supervisor->remove_folders(gone);
              }});
  }
  trim_later(trimmed && trimmed->more ? kTrimAgain : kTrimEvery);
}

void Daemon::feed_watchdog() {
  std::uint64_t every_us = 0;
  if (sd_watchdog_enabled(0, &every_us) <= 0) return;
  sd_notify(0, "WATCHDOG=1");
  parts_->watchdog.expires_after(std::chrono::microseconds(every_us / 2));
  parts_->watchdog.async_wait([this](const boost::system::error_code& error) {
    if (!error) feed_watchdog();
  });
}

}  // namespace tangram::daemon
