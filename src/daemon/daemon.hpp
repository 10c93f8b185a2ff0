// Daemon: all parts put together, from opening the store to the end of the loop. The order matters:
// first what was known (store), then what is (driver, shims), then both made to agree, and only
// then callers. One rule: when it ends, for whatever reason, the jobs go on.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "daemon/config.hpp"
#include "daemon/descriptors.hpp"

namespace tangram::daemon {

class Daemon {
 public:
  // `config_path` is read again on SIGHUP.
  Daemon(Config config, std::optional<std::string> config_path);
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;
  Daemon(Daemon&&) = delete;
  Daemon& operator=(Daemon&&) = delete;

  // Serves until SIGTERM or SIGINT. An error: it could not start, and nothing was changed.
  [[nodiscard]] Result<void> run();

 private:
  struct Parts;

  [[nodiscard]] Result<void> open();
  [[nodiscard]] Result<void> open_movers();
  [[nodiscard]] Result<std::string> library();
  [[nodiscard]] std::string node_name();
  [[nodiscard]] bool was_rebooted() const;
  void agree();
  void give_up_runs();
  void take_over_tuning();
  void listen_to_signals();
  void reload();
  void stop();
  void stop_by(std::chrono::steady_clock::time_point deadline, bool was_settled);
  void trim();
  void trim_later(std::chrono::milliseconds wait);
  void feed_watchdog();

  Config config_;
  std::optional<std::string> config_path_;
  Descriptors descriptors_ = {};
  std::string tuning_said_;  // by the file, when it was last taken over
  std::unique_ptr<Parts> parts_;
};

}  // namespace tangram::daemon
