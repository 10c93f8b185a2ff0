// See checkpoint_mover.hpp.
#include "daemon/checkpoint_mover.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <unistd.h>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <spdlog/spdlog.h>

#include "api/job.hpp"
#include "base/text.hpp"
#include "daemon/checkpoint_folder.hpp"
#include "daemon/die_at.hpp"
#include "daemon/supervisor.hpp"

namespace tangram::daemon {
namespace {

constexpr std::chrono::milliseconds kLookEvery{20};

}  // namespace

// One checkpoint that was asked for.
struct CheckpointMover::Saving {
  explicit Saving(boost::asio::io_context& loop) : timer(loop) {}
  core::JobId job;
  core::RunId original;
  std::string folder;
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
  auto saving = std::make_shared<Saving>(loop_);
  saving->job = replica.job;
  saving->original = original;
  saving->prepared = std::move(prepared);
  savings_[replica.job] = saving;
  const auto moving = supervisor_.moving_of(original);
  if (!moving) {
    boost::asio::post(loop_, [this, alive = alive_, saving] {
      if (*alive) conclude(saving, failed("the job ended before it could be moved."));
    });
    return;
  }
  saving->folder = moving->checkpoint;
  saving->signal = moving->options.signal;
  saving->time = moving->options.deadline;
  // What an earlier daemon froze and then could not go on with must run to save anything.
  supervisor_.freeze(original, false, [this, alive = alive_, saving](const Result<void>& thawed) {
    if (!*alive) return;
    if (thawed) {
      ask(saving);
    } else {
      conclude(saving, thawed);
    }
  });
}

// A move can be taken back while an answer is under way; what comes then must do nothing more.
bool CheckpointMover::is_wanted(const SavingPtr& saving) const {
  const auto at = savings_.find(saving->job);
  return at != savings_.end() && at->second == saving;
}

void CheckpointMover::ask(const SavingPtr& saving) {
  if (!is_wanted(saving)) return;
  for (const char* file : {kSavedFile, kResumedFile}) {
    const std::string path = cat(saving->folder, "/", file);
    if (unlink(path.c_str()) != 0 && errno != ENOENT) {
      conclude(saving, failed(cat("cannot remove ", tangram::quoted(path), ": ",
                                  std::strerror(errno), ".")));
      return;
    }
  }
  if (const auto sent = supervisor_.signal(saving->original, saving->signal); !sent) {
    conclude(saving, sent);
    return;
  }
  die_if_performed("checkpoint-asked");
  saving->until = std::chrono::steady_clock::now() + saving->time;
  await(saving);
}

// The job's own file system may have no way to be told of a change; a look costs next to nothing.
void CheckpointMover::await(const SavingPtr& saving) {
  if (!is_wanted(saving)) return;
  if (supervisor_.announced(saving->folder, kSavedFile)) {
    die_if_performed("checkpoint-saved");
    freeze(saving);
    return;
  }
  if (std::chrono::steady_clock::now() >= saving->until) {
    conclude(saving, failed(cat("it saved no checkpoint within ", api::duration_text(saving->time),
                                " (no file \"saved\" in $TANGRAM_CHECKPOINT).")));
    return;
  }
  if (!supervisor_.moving_of(saving->original)) {
    conclude(saving, failed("the job ended while it saved a checkpoint."));
    return;
  }
  saving->timer.expires_after(kLookEvery);
  saving->timer.async_wait(
      [this, alive = alive_, saving](const boost::system::error_code& stopped) {
        if (!stopped && *alive) await(saving);
      });
}

void CheckpointMover::freeze(const SavingPtr& saving) {
  supervisor_.freeze(saving->original, true,
                     [this, alive = alive_, saving](const Result<void>& frozen) {
                       if (!*alive) return;
                       if (frozen) die_if_performed("frozen");
                       conclude(saving, frozen);
                     });
}

void CheckpointMover::conclude(const SavingPtr& saving, const Result<void>& result) {
  if (!is_wanted(saving)) return;
  savings_.erase(saving->job);
  if (!result) spdlog::warn("job {}: {}", saving->job.value(), result.error().message);
  saving->prepared(result);
}

// Nothing is in flight: what it had is in its checkpoint.
void CheckpointMover::switch_over(const core::SwitchTraffic& wanted) {
  engine_.post(core::TrafficSwitched{wanted.job, wanted.to});
  if (wanted.from != core::kNoRun) {
    engine_.post(core::TrafficDrained{wanted.job, wanted.from, wanted.to});
  }
}

void CheckpointMover::take_back(core::JobId job, core::RunId original) {
  if (const auto at = savings_.find(job); at != savings_.end()) {
    at->second->timer.cancel();
    savings_.erase(at);
  }
  supervisor_.settle(original);
}

}  // namespace tangram::daemon
