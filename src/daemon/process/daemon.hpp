// Daemon: creates all parts of tangramd, connects them and runs the event loop. At the start it
// loads the stored state, reads the actual one (driver, shims), reconciles the two, and accepts
// clients only then. Jobs keep running when the daemon ends, for whatever reason.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "daemon/config/config.hpp"
#include "daemon/process/fd_limit.hpp"

namespace tangram::daemon {

class Daemon {
 public:
  // `config_path`: the file given on the command line, if any; SIGHUP reloads the configuration.
  Daemon(Config config, std::optional<std::string> config_path);
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;
  Daemon(Daemon&&) = delete;
  Daemon& operator=(Daemon&&) = delete;

  // Serves until SIGTERM or SIGINT. An error means that the daemon could not start.
  [[nodiscard]] Result<void> run();

 private:
  struct Parts;

  [[nodiscard]] Result<void> open();
  [[nodiscard]] Result<void> open_store();
  [[nodiscard]] Result<void> open_hardware(const std::string& library);
  [[nodiscard]] Result<void> open_supervisor(const std::string& library, const std::string& node);
  [[nodiscard]] Result<void> open_movers();
  [[nodiscard]] Result<void> open_server();
  [[nodiscard]] Result<std::string> library_path() const;
  [[nodiscard]] std::string node_name();
  [[nodiscard]] bool was_rebooted() const;  // recovery.cpp
  void reconcile();                         // recovery.cpp
  void set_executors();                     // recovery.cpp
  void suspend_gpus();                      // recovery.cpp
  void end_all_runs();                      // recovery.cpp
  void apply_configured_tuning();
  void await_signal();
  void reap_children();
  void reload();
  void stop();
  void stop_when_idle(std::chrono::steady_clock::time_point deadline, bool was_idle);
  // maintenance.cpp
  static constexpr std::chrono::milliseconds kRetentionInterval{60'000};
  void schedule_retention(std::chrono::milliseconds delay);
  void apply_retention();
  void feed_watchdog();

  Config config_;
  std::optional<std::string> config_path_;
  FdLimit fd_limit_ = {};
  std::string applied_tuning_;  // applied_text() of the file that was applied last
  std::unique_ptr<Parts> parts_;
};

}  // namespace tangram::daemon
