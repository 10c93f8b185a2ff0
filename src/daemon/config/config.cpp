// See config.hpp.
#include "daemon/config/config.hpp"

#include <arpa/inet.h>
#include <array>
#include <charconv>
#include <filesystem>
#include <utility>
#include <vector>

#include "api/job.hpp"
#include "base/text.hpp"
#include "daemon/config/config_access.hpp"
#include "daemon/config/section.hpp"
#include "daemon/engine/tuning_text.hpp"
#include "os/read_file.hpp"
#include "policies/registry.hpp"
#include "text/toml_table.hpp"

namespace tangram::daemon {
namespace {

constexpr std::size_t kMaxFileSize = 1U << 20U;

Result<unsigned> parse_mode(const std::string& text) {
  unsigned mode = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), mode, 8);
  if (error != std::errc() || end != text.data() + text.size() || mode > 0777) {
    return invalid(cat("invalid file mode ", tangram::quoted(text), ": use octal, e.g. \"0660\""));
  }
  return mode;
}

void read_daemon(const Section& in, Config& config) {
  in.allow({"state_dir", "socket", "socket_mode"});
  in.read("state_dir", config.state_dir);
  in.read("socket", config.socket);
  in.keep("socket_mode", parse_mode(in.table().text_or("socket_mode", "0666")), config.socket_mode);
}

void read_tcp(const Section& in, Config& config) {
  in.allow({"listen", "certificate", "key"});
  in.read("listen", config.tcp.listen);
  in.read("certificate", config.tcp.certificate);
  in.read("key", config.tcp.key);
  if (config.tcp.listen.empty()) return;
  if (config.tcp.listen.find(':') == std::string::npos) {
    in.add_error("listen", cat("invalid address ", tangram::quoted(config.tcp.listen),
                               ": use address and port, e.g. \"0.0.0.0:7443\""));
  }
  if (config.tcp.certificate.empty() || config.tcp.key.empty()) {
    in.add_error("listen", "TCP requires TLS: set certificate and key too");
  }
}

void read_log(const Section& in, Config& config) {
  in.allow({"level", "format", "audit"});
  in.read("audit", config.audit);
  in.read("level", config.log_level);
  constexpr std::array kLevels = {"debug", "info", "warn", "error"};
  if (std::ranges::find(kLevels, config.log_level) == kLevels.end()) {
    in.add_error("level", cat("invalid level ", tangram::quoted(config.log_level),
                              ": use debug, info, warn or error"));
  }
  const std::string format = in.table().text_or("format", "text");
  if (format != "text" && format != "json") {
    in.add_error("format", cat("invalid format ", tangram::quoted(format), ": use text or json"));
  }
  config.log_json = format == "json";
}

// Earlier versions had true (on all GPUs) and false (on none).
void read_mig(const Section& in, Config& config) {
  if (in.table().is_flag("enable_mig")) {
    const bool all = in.table().flag_or("enable_mig", false);
    config.enable_mig = all ? EnableMig::kAll : EnableMig::kNever;
  } else {
    const std::string which = in.table().text_or("enable_mig", "managed");
    if (which != "managed" && which != "all" && which != "never") {
      in.add_error("enable_mig",
                   cat("invalid value ", tangram::quoted(which), ": use managed, all or never"));
    }
    config.enable_mig = which == "all"     ? EnableMig::kAll
                        : which == "never" ? EnableMig::kNever
                                           : EnableMig::kManaged;
  }
  for (const std::string& uuid : in.table().texts_or_none("mig_gpus")) {
    if (!uuid.starts_with("GPU-")) {
      in.add_error("mig_gpus", cat("invalid GPU UUID ", tangram::quoted(uuid),
                                   ": use those of `nvidia-smi -L`, e.g. \"GPU-1b2c3d4e-…\""));
    }
    config.mig_gpus.insert(uuid);
  }
}

void read_device(const Section& in, Config& config) {
  in.allow({"nvml", "emulate", "enable_mig", "mig_gpus", "change_time", "in_use_time",
            "observe_every", "fatal_xids"});
  in.read("nvml", config.library);
  in.read("emulate", config.emulate);
  read_mig(in, config);
  in.read("change_time", config.change_time);
  in.read("in_use_time", config.in_use_time);
  in.read("observe_every", config.observe_every);
  if (config.observe_every < std::chrono::milliseconds(100)) {
    in.add_error("observe_every", "must be at least 100ms");
  }
  if (!in.has("fatal_xids")) return;
  config.fatal_xids.clear();
  for (const int xid : in.table().numbers_or_none("fatal_xids", {0, 100'000})) {
    config.fatal_xids.insert(static_cast<std::uint64_t>(xid));
  }
}

// The keys of `tuning` that the table sets.
api::TuningChange keys_set(const text::TomlTable& table, const api::TuningView& tuning) {
  api::TuningChange set;
  const auto take = [&](const char* key, const auto& value, auto& in_file) {
    if (table.has(key)) in_file = value;
  };
  take("threshold", tuning.threshold, set.threshold);
  take("placement", tuning.placement, set.placement);
  take("migration", tuning.migration, set.migration);
  take("queue", tuning.queue, set.queue);
  take("most_moves", tuning.most_moves, set.most_moves);
  take("cooldown", tuning.cooldown, set.cooldown);
  take("gain", tuning.gain, set.gain);
  take("window", tuning.window, set.window);
  take("protect_head", tuning.protect_head, set.protect_head);
  take("max_passes", tuning.max_passes, set.max_passes);
  take("ageing", tuning.ageing, set.ageing);
  take("half_life", tuning.half_life, set.half_life);
  return set;
}

void read_fairness(const Section& in, core::Fairness& fairness) {
  using std::chrono::milliseconds;
  in.read_number("max_passes", {0, kMaxPasses}, fairness.max_passes);
  auto ageing = std::chrono::duration_cast<milliseconds>(fairness.ageing);
  in.read("ageing", ageing);
  fairness.ageing = ageing;
  auto half_life = std::chrono::duration_cast<milliseconds>(fairness.half_life);
  in.read("half_life", half_life);
  fairness.half_life = half_life;
}

void read_scheduler(const Section& in, Config& config) {
  in.allow({"threshold", "placement", "migration", "queue", "most_moves", "cooldown", "gain",
            "window", "protect_head", "max_passes", "ageing", "half_life"});
  core::Tuning& tuning = config.tuning;
  in.keep("threshold",
          core::Threshold::parse(in.table().text_or("threshold", tuning.threshold.text())),
          tuning.threshold);
  in.read("placement", tuning.placement);
  in.read("migration", tuning.migration);
  in.read("queue", tuning.queue);
  const auto check = [&](const char* key, const auto& found) {
    if (!found) in.add_error(key, found.error().message);
  };
  check("placement", policies::find_placement(tuning.placement));
  check("migration", policies::find_migration(tuning.migration));
  check("queue", policies::find_queue(tuning.queue));
  in.read_number("most_moves", {0, 1024}, tuning.restraint.most_moves);
  auto cooldown = std::chrono::duration_cast<std::chrono::milliseconds>(tuning.restraint.cooldown);
  in.read("cooldown", cooldown);
  tuning.restraint.cooldown = cooldown;
  core::Restraint& restraint = tuning.restraint;
  in.keep("gain", parse_gain(in.table().text_or("gain", gain_text(restraint.smallest_gain_ppm))),
          restraint.smallest_gain_ppm);
  in.keep("window", parse_window(in.table().text_or("window", window_text(restraint.window))),
          restraint.window);
  in.read("protect_head", restraint.protect_head);
  read_fairness(in, tuning.fairness);
  config.tuning_in_file = keys_set(in.table(), view_of(tuning));
}

void read_move_services(const Section& in, Config& config) {
  const std::string way = in.table().text_or("move_services", "never");
  if (way != "never" && way != "replica") {
    in.add_error("move_services",
                 cat("invalid value ", tangram::quoted(way), ": use never or replica"));
  }
  config.move_services = way == "replica" ? api::MoveMethod::kReplica : api::MoveMethod::kNever;
}

void read_jobs(const Section& in, Config& config) {
  in.allow({"default_time_limit", "max_time_limit", "grace", "start_time", "log_size", "log_files",
            "first_port", "last_port", "cgroup", "lost_found_days", "pids_limit", "move_services",
            "pam"});
  read_move_services(in, config);
  read_time_limits(in, config.limits);
  in.read("grace", config.grace);
  in.read("start_time", config.start_time);
  in.read_bytes("log_size", config.log_bytes);
  if (config.log_bytes < 4096) in.add_error("log_size", "must be at least 4KiB");
  in.read_number("log_files", {1, 1000}, config.log_files);
  in.read_number("first_port", {1024, 65535}, config.first_port);
  in.read_number("last_port", {1024, 65535}, config.last_port);
  if (config.last_port < config.first_port)
    in.add_error("last_port", "must not be below first_port");
  in.read_number("lost_found_days", {0, 36'500}, config.lost_found_days);
  in.read_number("pids_limit", {0, 4'194'304}, config.pids_limit);
  in.read("pam", config.pam);
  in.read("cgroup", config.cgroup);
  if (config.cgroup != "auto" && config.cgroup != "off" && !config.cgroup.starts_with('/')) {
    in.add_error("cgroup", cat("invalid value ", tangram::quoted(config.cgroup),
                               ": use auto, off or an absolute path"));
  }
}

void read_leases(const Section& in, Config& config) {
  in.allow({"linger"});
  in.read("linger", config.linger);
  if (config.linger > std::chrono::hours(1)) in.add_error("linger", "must be at most 1h");
}

void read_time(const Section& in, const char* key, std::chrono::milliseconds& value) {
  in.read(key, value);
  if (value < std::chrono::milliseconds(10)) in.add_error(key, "must be at least 10ms");
}

void read_endpoints(const Section& in, Config& config) {
  in.allow({"host", "first_port", "last_port", "wait", "connect", "keep_alive", "idle",
            "most_connections"});
  EndpointDefaults& defaults = config.endpoints;
  in.read("host", defaults.host);
  std::array<std::byte, 16> address{};
  if (inet_pton(AF_INET, defaults.host.c_str(), address.data()) != 1 &&
      inet_pton(AF_INET6, defaults.host.c_str(), address.data()) != 1) {
    in.add_error("host", cat("invalid IP address ", tangram::quoted(defaults.host)));
  }
  in.read_number("first_port", {1024, 65535}, defaults.first_port);
  in.read_number("last_port", {1024, 65535}, defaults.last_port);
  if (defaults.last_port < defaults.first_port)
    in.add_error("last_port", "must not be below first_port");
  read_time(in, "wait", defaults.wait);
  read_time(in, "connect", defaults.connect);
  read_time(in, "keep_alive", defaults.keep_alive);
  if (in.table().text_or("idle", "") == "none") {
    defaults.idle = std::chrono::milliseconds(0);
  } else {
    read_time(in, "idle", defaults.idle);
  }
  in.read_number("most_connections", {1, api::kMaxConnections}, defaults.most_connections);
}

void read_hooks(const Section& in, Config& config) {
  in.allow({"command", "url", "ca_file"});
  config.hooks.command = in.table().texts_or_none("command");
  in.read("url", config.hooks.url);
  in.read("ca_file", config.hooks.ca_file);
  const auto& command = config.hooks.command;
  if (!command.empty() && !command.front().starts_with('/')) {
    in.add_error("command", cat("the program ", tangram::quoted(command.front()),
                                " is not an absolute path; it is not run by a shell"));
  }
  if (config.hooks.url.empty()) return;
  if (const auto url = split_url(config.hooks.url); !url) in.add_error("url", url.error().message);
}

void read_history(const Section& in, Config& config) {
  in.allow({"jobs", "most_jobs", "most_steps"});
  std::chrono::milliseconds jobs = config.retention.jobs;
  in.read("jobs", jobs);
  config.retention.jobs = std::chrono::duration_cast<std::chrono::hours>(jobs);
  in.read_number("most_jobs", {0, kMaxCount}, config.retention.most_jobs);
  in.read_number("most_steps", {1000, kMaxCount}, config.retention.most_steps);
}

}  // namespace

Result<Config> parse_config(std::string_view text, const std::string& file) {
  const auto parsed = text::parse_toml(text, file);
  if (!parsed) return std::unexpected(parsed.error());
  text::Findings findings(file);
  const text::TomlTable root(*parsed, "the configuration", findings);
  struct SectionReader {
    const char* name;
    void (*read)(const Section&, Config&);
  };
  constexpr std::array<SectionReader, 11> kReaders = {{{"daemon", read_daemon},
                                                       {"tcp", read_tcp},
                                                       {"access", read_access},
                                                       {"log", read_log},
                                                       {"device", read_device},
                                                       {"scheduler", read_scheduler},
                                                       {"jobs", read_jobs},
                                                       {"leases", read_leases},
                                                       {"endpoints", read_endpoints},
                                                       {"hooks", read_hooks},
                                                       {"history", read_history}}};
  std::vector<std::string> names;
  for (const SectionReader& reader : kReaders) names.emplace_back(reader.name);
  root.allow_only(names);
  Config config;
  for (const SectionReader& reader : kReaders) {
    const auto table = root.table_or_none(reader.name, cat("[", reader.name, "]"));
    if (table) reader.read(Section(*table, findings), config);
  }
  if (auto error = findings.first()) return std::unexpected(*std::move(error));
  return config;
}

Result<Config> read_config(const std::optional<std::string>& path) {
  const std::string file = path.value_or(kConfigFile);
  std::error_code ignored;
  if (!path && !std::filesystem::exists(file, ignored)) return Config();
  const auto text = os::read_file(file, "configuration", kMaxFileSize);
  if (!text) return std::unexpected(text.error());
  return parse_config(*text, file);
}

std::vector<std::string> needs_restart(const Config& now, const Config& next) {
  std::vector<std::string> keys;
  const auto compare = [&](const char* key, const auto& a, const auto& b) {
    if (a != b) keys.emplace_back(key);
  };
  compare("daemon.state_dir", now.state_dir, next.state_dir);
  compare("daemon.socket", now.socket, next.socket);
  compare("daemon.socket_mode", now.socket_mode, next.socket_mode);
  compare("tcp.listen", now.tcp.listen, next.tcp.listen);
  compare("access.connections_per_user", now.connections_per_user, next.connections_per_user);
  compare("log.format", now.log_json, next.log_json);
  compare("log.audit", now.audit, next.audit);
  compare("device.nvml", now.library, next.library);
  compare("device.emulate", now.emulate, next.emulate);
  compare("device.enable_mig", now.enable_mig, next.enable_mig);
  compare("device.mig_gpus", now.mig_gpus, next.mig_gpus);
  compare("device.change_time", now.change_time, next.change_time);
  compare("device.in_use_time", now.in_use_time, next.in_use_time);
  compare("device.observe_every", now.observe_every, next.observe_every);
  compare("jobs.cgroup", now.cgroup, next.cgroup);
  compare("endpoints.host", now.endpoints.host, next.endpoints.host);
  compare("endpoints.first_port", now.endpoints.first_port, next.endpoints.first_port);
  compare("endpoints.last_port", now.endpoints.last_port, next.endpoints.last_port);
  compare("endpoints.wait", now.endpoints.wait, next.endpoints.wait);
  compare("endpoints.connect", now.endpoints.connect, next.endpoints.connect);
  compare("endpoints.keep_alive", now.endpoints.keep_alive, next.endpoints.keep_alive);
  compare("endpoints.idle", now.endpoints.idle, next.endpoints.idle);
  compare("endpoints.most_connections", now.endpoints.most_connections,
          next.endpoints.most_connections);
  return keys;
}

}  // namespace tangram::daemon
