// Run: what the supervisor knows of one live run. One rule: everything durable about it is in its
// row and its folder; this can be lost at any moment and made again.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/steady_timer.hpp>

#include "api/job.hpp"
#include "api/run_spec.hpp"
#include "core/ids.hpp"
#include "daemon/control_link.hpp"
#include "store/store.hpp"

namespace tangram::daemon {

struct Run {
  explicit Run(boost::asio::io_context& loop) : timer(loop), stop_timer(loop), freeze_timer(loop) {}

  core::JobId job;  // 0: a stray, of which the scheduler knows nothing
  core::RunId run;
  core::GpuId gpu;
  core::InstanceId instance;
  std::string folder;
  std::string mig_uuid;
  api::JobKind kind = api::JobKind::kBatch;
  api::Probe probe;
  api::RunSpec spec;
  std::uint32_t uid = 0;
  bool is_replica = false;   // started as one; it may be the job by now
  bool is_complete = false;  // what its request says is known; else it is only watched
  bool is_direct = true;     // its clients ask it, not an endpoint
  api::MoveWay way = api::MoveWay::kNever;
  api::MoveOptions move;
  bool is_frozen = false;      // it was asked to be, and is not known to have been thawed since
  std::string freeze_trouble;  // why it could not be frozen or thawed the last time
  std::string checkpoint;      // the folder where its job keeps one; empty: it does not
  std::map<std::int64_t, std::function<void(Result<void>)>> questions;  // to its shim, by number
  std::int64_t last_question = 0;

  enum class Phase : std::uint8_t {
    kWaiting,     // to be started, at once or again
    kSpawning,    // a shim is being started
    kForbidding,  // it is being made sure that none ever starts
    kLinked,      // a shim answers, or is being found
    kKilling,     // its shim is gone; its processes are being ended
    kGone,
  };
  Phase phase = Phase::kWaiting;
  bool is_ready = false;
  bool stop_wanted = false;
  std::optional<std::chrono::milliseconds> stop_grace;  // none: the spec's
  std::string stop_reason;                              // why we stop it, if nobody asked
  std::optional<int> pid;
  std::optional<store::WallTime> started;  // as its shim says
  int attempts = 0;                        // to start it
  std::chrono::steady_clock::time_point wanted_since = std::chrono::steady_clock::now();
  std::optional<std::uint16_t> port;
  std::optional<std::chrono::steady_clock::time_point> probe_until;
  std::uint64_t probe_number = 0;
  std::unique_ptr<ControlLink> link;
  boost::asio::steady_timer timer;         // next attempt to start, link or probe
  boost::asio::steady_timer stop_timer;    // until then it must have ended
  boost::asio::steady_timer freeze_timer;  // next attempt to freeze or thaw it
};

}  // namespace tangram::daemon
