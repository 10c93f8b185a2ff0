// See daemon.hpp: what the daemon does periodically: deletes old data and feeds systemd's watchdog.
#include <chrono>

#include <boost/asio/steady_timer.hpp>
#include <spdlog/spdlog.h>
#include <systemd/sd-daemon.h>

#include "daemon/engine/engine.hpp"
#include "daemon/process/daemon.hpp"
#include "daemon/process/daemon_parts.hpp"
#include "daemon/runs/supervisor.hpp"
#include "daemon/service/api_service.hpp"

namespace tangram::daemon {
namespace {

constexpr std::chrono::milliseconds kMoreRetentionInterval{200};  // while more is to be deleted

}  // namespace

void Daemon::schedule_retention(std::chrono::milliseconds delay) {
  parts_->retention.expires_after(delay);
  parts_->retention.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    parts_->engine->between_batches([this] { apply_retention(); });
  });
}

void Daemon::apply_retention() {
  const auto now = parts_->wall_clock_guard.check(Clock::wall(), Clock::since_boot());
  const auto deleted = parts_->store->apply_retention(config_.retention, now);
  if (!deleted) {
    spdlog::error("{}", deleted.error().message);
  } else if (!deleted->runs.empty() || !deleted->jobs.empty() || deleted->more) {
    // The folders are removed once the deletion of their rows is durable.
    parts_->engine->post(
        Input{.event = core::WakeUp{}, .done = [this, gone = *deleted](const Result<void>&) {
                parts_->supervisor->remove_folders(gone);
                parts_->api->forget_logs(gone.runs);
              }});
  }
  if (now && config_.lost_found_days > 0) {
    parts_->supervisor->remove_old_lost_found(*now - std::chrono::days(config_.lost_found_days));
  }
  schedule_retention(deleted && deleted->more ? kMoreRetentionInterval : kRetentionInterval);
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
