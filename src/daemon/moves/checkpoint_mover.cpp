// See checkpoint_mover.hpp.
#include "daemon/moves/checkpoint_mover.hpp"

#include <chrono>
#include <string>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <spdlog/spdlog.h>

#include "api/job.hpp"
#include "base/text.hpp"
#include "daemon/engine/crash_point.hpp"
#include "daemon/runs/checkpoint_files.hpp"
#include "daemon/runs/supervisor.hpp"

namespace tangram::daemon {
namespace {

constexpr std::chrono::milliseconds kPollInterval{20};

}  // namespace

// One requested checkpoint.
struct CheckpointMover::Request {
  explicit Request(boost::asio::io_context& loop) : timer(loop) {}
  core::JobId job;
  core::RunId original;
  std::string folder;
  std::uint32_t uid = 0;
  int signal = 0;
  std::chrono::milliseconds time{0};
  std::chrono::steady_clock::time_point until;
  Prepared prepared;
  boost::asio::steady_timer timer;
};

CheckpointMover::CheckpointMover(boost::asio::io_context& loop, Engine& engine,
                                 Supervisor& supervisor)
    : loop_(loop), engine_(engine), supervisor_(supervisor) {}

CheckpointMover::~CheckpointMover() { *alive_ = false; }

void CheckpointMover::prepare(const core::StartJob& replica, core::RunId original,
                              Prepared prepared) {
  auto request = std::make_shared<Request>(loop_);
  request->job = replica.job;
  request->original = original;
  request->prepared = std::move(prepared);
  requests_[replica.job] = request;
  const auto info = supervisor_.find_move_info(original);
  if (!info) {
    boost::asio::post(loop_, [this, alive = alive_, request] {
      if (*alive) finish(request, failed("the job ended before it could be moved."));
    });
    return;
  }
  request->folder = info->checkpoint;
  request->uid = info->uid;
  request->signal = info->options.signal;
  request->time = info->options.deadline;
  // The original may be frozen by a move that an earlier daemon began; it must run to save its
  // state.
  supervisor_.freeze(original, false, [this, alive = alive_, request](const Result<void>& thawed) {
    if (!*alive) return;
    if (thawed) {
      request_checkpoint(request);
    } else {
      finish(request, thawed);
    }
  });
}

// False once the move was rolled back: late responses are then ignored.
bool CheckpointMover::is_current(const RequestPtr& request) const {
  const auto at = requests_.find(request->job);
  return at != requests_.end() && at->second == request;
}

void CheckpointMover::request_checkpoint(const RequestPtr& request) {
  if (!is_current(request)) return;
  remove_marker(request, kSavedFile, [this, request](const Result<void>& removed) {
    if (!removed) {
      finish(request, removed);
      return;
    }
    supervisor_.request_checkpoint(request->original, request->signal,
                                   [this, alive = alive_, request](const Result<void>& sent) {
                                     if (*alive) on_signal_sent(request, sent);
                                   });
  });
}

// Calls `then` unless the move was rolled back meanwhile.
void CheckpointMover::remove_marker(const RequestPtr& request, const char* file,
                                    std::function<void(const Result<void>&)> then) {
  supervisor_.checkpoint_files().remove(
      request->uid, request->folder, file,
      [this, alive = alive_, request, then = std::move(then)](const Result<void>& removed) {
        if (*alive && is_current(request)) then(removed);
      });
}

void CheckpointMover::on_signal_sent(const RequestPtr& request, const Result<void>& sent) {
  if (!is_current(request)) return;
  if (!sent) {
    finish(request, sent);
    return;
  }
  crash_after_action("checkpoint-asked");
  request->until = std::chrono::steady_clock::now() + request->time;
  poll_saved(request);
}

// Polls, because not every file system reports changes (inotify). A poll is cheap.
void CheckpointMover::poll_saved(const RequestPtr& request) {
  if (!is_current(request)) return;
  supervisor_.checkpoint_files().look_for(
      request->uid, request->folder, kSavedFile,
      [this, alive = alive_, request](const Result<bool>& found) {
        if (*alive && is_current(request)) on_looked_for_saved(request, found);
      });
}

void CheckpointMover::on_looked_for_saved(const RequestPtr& request, const Result<bool>& found) {
  if (!found) {
    finish(request, std::unexpected(found.error()));
    return;
  }
  if (*found) {
    crash_after_action("checkpoint-saved");
    freeze(request);
    return;
  }
  if (std::chrono::steady_clock::now() >= request->until) {
    finish(request, failed(cat("no checkpoint saved within ", api::duration_text(request->time),
                               " (no file \"saved\" in $TANGRAM_CHECKPOINT).")));
    return;
  }
  if (!supervisor_.find_move_info(request->original)) {
    finish(request, failed("the job ended while saving a checkpoint."));
    return;
  }
  request->timer.expires_after(kPollInterval);
  request->timer.async_wait(
      [this, alive = alive_, request](const boost::system::error_code& stopped) {
        if (!stopped && *alive) poll_saved(request);
      });
}

void CheckpointMover::freeze(const RequestPtr& request) {
  supervisor_.freeze(
      request->original, true, [this, alive = alive_, request](const Result<void>& frozen) {
        if (!*alive || !is_current(request)) return;
        if (!frozen) {
          finish(request, frozen);
          return;
        }
        crash_after_action("frozen");
        // Only now: the original, too, may have announced that it resumed.
        remove_marker(request, kResumedFile,
                      [this, request](const Result<void>& removed) { finish(request, removed); });
      });
}

void CheckpointMover::finish(const RequestPtr& request, const Result<void>& result) {
  if (!is_current(request)) return;
  requests_.erase(request->job);
  if (!result) spdlog::warn("job {}: {}", request->job.value(), result.error().message);
  request->prepared(result);
}

// A batch job has no traffic: its state is in the checkpoint.
void CheckpointMover::switch_traffic(const core::SwitchTraffic& action) {
  engine_.post(core::TrafficSwitched{action.job, action.to});
  if (action.from != core::kNoRun) {
    engine_.post(core::TrafficDrained{action.job, action.from, action.to});
  }
}

void CheckpointMover::roll_back(core::JobId job, core::RunId original) {
  if (const auto at = requests_.find(job); at != requests_.end()) {
    at->second->timer.cancel();
    requests_.erase(at);
  }
  supervisor_.reconcile_freeze(original);
}

}  // namespace tangram::daemon
