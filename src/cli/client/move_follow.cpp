// See move_follow.hpp.
#include "cli/client/move_follow.hpp"

#include <cstdio>
#include <limits>

#include <fmt/format.h>

#include "base/text.hpp"
#include "cli/client/event_stream.hpp"
#include "cli/client/job_text.hpp"
#include "cli/client/log_copy.hpp"

namespace tangram::cli {
namespace {

constexpr auto kPollInterval = std::chrono::milliseconds(100);
constexpr auto kReconnectTime = std::chrono::seconds(30);  // how long to try to reconnect
constexpr std::string_view kFamily = "move.";

// Asking for events after the highest possible number yields a gap that ends at the last event.
Result<std::uint64_t> last_event(const std::string& socket) {
  EventQuery query;
  query.socket = socket;
  query.after = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t last = 0;
  const auto done = follow_events(query, [&](const StreamItem& item) {
    if (item.gap) last = item.gap->next - 1;
    return true;
  });
  if (!done) return std::unexpected(done.error());
  return last;
}

// Reads the events of one job until its move has ended.
class MoveFollower {
 public:
  MoveFollower(const DaemonOptions& daemon, const StartedMove& move) {
    query_.socket = socket_of(daemon);
    query_.after = move.after;
    query_.job = std::to_string(move.job.id);
    query_.kinds = "move";
  }

  // Reads the events that are available now.
  Result<void> poll() {
    bool forgotten = false;
    const auto done = follow_events(query_, [&](const StreamItem& item) {
      forgotten = item.gap.has_value();
      if (!forgotten) on_event(item.event);
      return !forgotten && !end_;
    });
    if (!done) return done;
    if (!forgotten) return {};
    return failed(cat("the events of the move of job ", query_.job,
                      " are no longer kept; see `tangram show ", query_.job, "`."));
  }
  [[nodiscard]] const std::optional<FinishedMove>& end() const { return end_; }

 private:
  // An end without a start belongs to an earlier move.
  void on_event(const api::EventView& event) {
    query_.after = event.id;
    if (!event.kind.starts_with(kFamily)) return;
    const std::string phase = event.kind.substr(kFamily.size());
    if (phase == "begun") started_ = event;
    const bool ends = phase == "done" || phase == "rolled-back" || phase == "taken-over";
    if (!ends || !started_) return;
    end_ = FinishedMove{.result = phase,
                        .text = event.text,
                        .to = {event.gpu.value_or(0), event.start.value_or(0)},
                        .took = event.time - started_->time};
  }

  EventQuery query_;
  std::optional<api::EventView> started_;
  std::optional<FinishedMove> end_;
};

}  // namespace

Result<StartedMove> start_move(const DaemonOptions& daemon, std::uint64_t job,
                               const api::MoveRequest& request) {
  const auto last = last_event(socket_of(daemon));
  if (!last) return std::unexpected(last.error());
  auto reply = request_json(daemon, "POST", cat("/v1/jobs/", job, "/move"), to_json(request));
  if (!reply) return std::unexpected(reply.error());
  auto view = api::read_job_view(*reply);
  if (!view) return std::unexpected(view.error());
  return StartedMove{std::move(*reply), std::move(*view), *last};
}

Result<std::optional<FinishedMove>> wait_for_move(const DaemonOptions& daemon,
                                                  const StartedMove& move,
                                                  const SignalWatch& signals) {
  MoveFollower follower(daemon, move);
  while (true) {
    const Result<void> read = follower.poll();
    if (!read && read.error().code != ErrorCode::kUnavailable) {
      return std::unexpected(read.error());
    }
    if (!read) {
      const auto again = reconnect(socket_of(daemon), kReconnectTime);
      if (!again) return std::unexpected(again.error());
    }
    if (follower.end()) return follower.end();
    if (signals.wait(kPollInterval)) return std::nullopt;
  }
}

std::string elapsed_text(std::chrono::microseconds took) {
  constexpr auto kMinute = std::chrono::minutes(1);
  return took < kMinute ? fmt::format("{:.1f}s", std::chrono::duration<double>(took).count())
                        : age_text(took);
}

std::string slot_text(const api::SlotView& slot) { return cat(slot.gpu, '@', slot.start); }

void report_move_continues(std::uint64_t job) {
  fmt::print(stderr, "tangram: the move of job {} continues; see `tangram show {}`.\n", job, job);
}

}  // namespace tangram::cli
