// Run: the Supervisor's state of one live run. It is rebuilt after a restart of the daemon from the
// run's row in the store and its folder.
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
#include "daemon/runs/control_link.hpp"
#include "store/store.hpp"

namespace tangram::daemon {

struct Run {
  explicit Run(boost::asio::io_context& loop) : timer(loop), stop_timer(loop), freeze_timer(loop) {}

  core::JobId job;  // 0: no job accounts for it
  core::RunId run;
  core::GpuId gpu;
  core::InstanceId instance;
  std::string folder;
  std::string mig_uuid;
  api::Probe probe;
  api::RunSpec spec;
  std::uint32_t uid = 0;
  api::JobKind kind = api::JobKind::kBatch;
  bool is_orphan = false;    // it has no job in the store; see supervisor_orphans.cpp
  bool is_replica = false;   // started as a replica; since then it may have replaced the original
  bool has_request = false;  // load_request() succeeded; else the run is only watched
  bool is_direct = true;     // clients connect to it, not to an endpoint
  api::MoveMethod move_method = api::MoveMethod::kNever;
  bool is_looking_for_resumed = false;  // the answer continues poll_resumed()
  bool is_frozen = false;         // a freeze was requested and no thaw has been confirmed since
  bool takes_checkpoint = false;  // its shim knows the request "checkpoint"
  api::MoveOptions move;
  std::string freeze_error;   // why the last freeze or thaw failed
  std::string prepare_error;  // why its move could not be prepared, as shown to every user
  std::string checkpoint;     // its job's checkpoint folder; empty: it has none
  // Completions of requests to its shim, by request id.
  std::map<std::int64_t, std::function<void(Result<void>)>> pending_requests;
  std::int64_t last_request_id = 0;

  enum class Phase : std::uint8_t {
    kWaiting,   // for the first or the next attempt to start it
    kSpawning,  // its shim is being started
    kSealing,   // a later start is being prevented; see shim::seal_run_folder()
    kLinked,    // connected to its shim, or reconnecting
    kKilling,   // its shim is gone; its processes are being killed
    kEnding,    // it has ended; whether it had resumed from a checkpoint is being looked at
    kGone,
  };
  Phase phase = Phase::kWaiting;
  bool is_ready = false;
  bool is_stop_requested = false;
  bool has_chosen_port = false;  // the daemon chose it, so that the next run gets another one
  bool has_listened = false;     // a probe was accepted by the run itself
  bool is_port_taken = false;    // another program has its port, so it is ended and started again
  std::optional<std::uint16_t> port;
  std::optional<std::chrono::milliseconds> stop_grace;  // nullopt: the spec's
  std::string stop_reason;  // set if the daemon stops it on its own account
  std::optional<int> pid;
  int attempts = 0;                        // to start it
  std::optional<store::WallTime> started;  // as reported by its shim
  std::chrono::steady_clock::time_point wanted_since = std::chrono::steady_clock::now();
  std::optional<std::chrono::steady_clock::time_point> exec_until;  // deadline of exec()
  std::optional<std::chrono::steady_clock::time_point> probe_until;
  std::uint64_t probe_number = 0;
  std::unique_ptr<ControlLink> link;
  boost::asio::steady_timer timer;         // next attempt to start, connect or probe
  boost::asio::steady_timer stop_timer;    // deadline of a stop
  boost::asio::steady_timer freeze_timer;  // next attempt to freeze or thaw it
};

}  // namespace tangram::daemon
