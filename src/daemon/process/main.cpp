// tangramd: manages the MIG GPUs of a node and runs jobs on them. This file parses the command
// line; see daemon.hpp.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>
#include <spdlog/spdlog.h>

#include "daemon/config/config.hpp"
#include "daemon/log/log.hpp"
#include "daemon/process/daemon.hpp"

namespace {

constexpr std::chrono::milliseconds kLogFlushTimeout{1'000};

struct Options {
  std::optional<std::string> config;
  std::optional<std::string> state_dir;
  std::optional<std::string> socket;
  std::optional<std::string> emulate;
  std::optional<std::string> library;
  std::optional<std::string> log_level;
  bool check = false;
};

void declare(CLI::App& app, Options& options) {
  app.add_option("--config", options.config, "Configuration file (/etc/tangram/tangram.toml)")
      ->option_text("FILE");
  app.add_flag("--check-config", options.check, "Check the configuration and exit");
  app.add_option("--state-dir", options.state_dir, "State directory (/var/lib/tangram)")
      ->option_text("DIR");
  app.add_option("--socket", options.socket, "Socket to listen on (/run/tangram/tangram.sock)")
      ->option_text("PATH");
  app.add_option("--emulate", options.emulate, "Emulate a node, e.g. 4xA100-40GB")
      ->option_text("NODE");
  app.add_option("--nvml", options.library, "NVML library (libnvidia-ml.so.1)")
      ->option_text("FILE")
      ->excludes("--emulate");
  app.add_option("--log-level", options.log_level, "debug, info, warn or error")
      ->option_text("LEVEL")
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}));
  app.set_version_flag("--version", TANGRAM_VERSION);
}

int fail(const std::string& message) {
  tangram::daemon::print_failure(message);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "tangramd: manages the MIG GPUs of this node and runs jobs on them.\n"
      "Runs in the foreground. SIGTERM stops it; its jobs keep running. SIGHUP reloads the\n"
      "configuration.");
  Options options;
  declare(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? 0 : 2;
  }
  auto config = tangram::daemon::read_config(options.config);
  if (!config) return fail(config.error().message);
  if (options.check) {
    std::printf("configuration OK\n");
    return 0;
  }
  if (options.state_dir) config->state_dir = *options.state_dir;
  if (options.socket) config->socket = *options.socket;
  if (options.emulate) config->emulate = *options.emulate;
  if (options.library) config->library = *options.library;
  if (options.log_level) config->log_level = *options.log_level;
  tangram::daemon::configure_log(config->log_level, config->log_json);
  tangram::daemon::Daemon daemon(*std::move(config), options.config);
  const auto ran = daemon.run();
  const int code = ran ? 0 : fail(ran.error().message);
  tangram::daemon::flush_log(kLogFlushTimeout);
  // Skip destructors: a thread may hang in the driver, and all state is on disk.
  std::fflush(nullptr);
  std::_Exit(code);
}
