// See move_follow.hpp.
#include "cli/move_follow.hpp"

#include <cstdio>
#include <limits>

#include <fmt/format.h>

#include "base/text.hpp"
#include "cli/event_stream.hpp"
#include "cli/job_text.hpp"
#include "cli/log_copy.hpp"

namespace tangram::cli {
namespace {

constexpr auto kBetweenLooks = std::chrono::milliseconds(100);
constexpr auto kPatience = std::chrono::seconds(30);  // with a daemon that is gone
constexpr std::string_view kFamily = "move.";

// Whoever asks for what comes after the last number there can be is told where the events stand.
Result<std::uint64_t> last_event(const std::string& socket) {
  EventWish wish;
  wish.socket = socket;
  wish.after = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t last = 0;
  const auto done = follow_events(wish, [&](const EventNews& news) {
    if (news.gap) last = news.gap->next - 1;
    return true;
  });
  if (!done) return std::unexpected(done.error());
  return last;
}

// The events of one job's move, from its beginning to its end.
class MoveStory {
 public:
  MoveStory(const DaemonOptions& daemon, const BegunMove& move) {
    wish_.socket = socket_of(daemon);
    wish_.after = move.after;
    wish_.job = std::to_string(move.job.id);
    wish_.kinds = "move";
  }

  // What there is to read now.
  Result<void> read_on() {
    bool forgotten = false;
    const auto done = follow_events(wish_, [&](const EventNews& news) {
      forgotten = news.gap.has_value();
      if (!forgotten) take(news.event);
      return !forgotten && !end_;
    });
    if (!done) return done;
    if (!forgotten) return {};
    return failed(cat("the daemon has forgotten how the move of job ", wish_.job,
                      " ended; `tangram show ", wish_.job, "` says where it is."));
  }
  [[nodiscard]] const std::optional<EndedMove>& end() const { return end_; }

 private:
  // An end without a beginning is that of an earlier move.
  void take(const api::EventView& event) {
    wish_.after = event.id;
    if (!event.kind.starts_with(kFamily)) return;
    const std::string news = event.kind.substr(kFamily.size());
    if (news == "begun") begun_ = event;
    const bool ends = news == "done" || news == "rolled-back" || news == "taken-over";
    if (!ends || !begun_) return;
    end_ = EndedMove{.result = news,
                     .text = event.text,
                     .to = {event.gpu.value_or(0), event.start.value_or(0)},
                     .took = event.time - begun_->time};
  }

  EventWish wish_;
  std::optional<api::EventView> begun_;
  std::optional<EndedMove> end_;
};

}  // namespace

Result<BegunMove> begin_move(const DaemonOptions& daemon, std::uint64_t job,
                             const api::MoveRequest& wish) {
  const auto last = last_event(socket_of(daemon));
  if (!last) return std::unexpected(last.error());
  auto answer = ask(daemon, "POST", cat("/v1/jobs/", job, "/move"), to_json(wish));
  if (!answer) return std::unexpected(answer.error());
  auto view = api::read_job_view(*answer);
  if (!view) return std::unexpected(view.error());
  return BegunMove{std::move(*answer), std::move(*view), *last};
}

Result<std::optional<EndedMove>> await_end(const DaemonOptions& daemon, const BegunMove& move,
                                           const SignalWatch& signals) {
  MoveStory story(daemon, move);
  while (true) {
    const Result<void> read = story.read_on();
    if (!read && read.error().code != ErrorCode::kUnavailable) {
      return std::unexpected(read.error());
    }
    if (!read) {
      const auto again = reconnect(socket_of(daemon), kPatience);
      if (!again) return std::unexpected(again.error());
    }
    if (story.end()) return story.end();
    if (signals.wait(kBetweenLooks)) return std::nullopt;
  }
}

std::string took_text(std::chrono::microseconds took) {
  constexpr auto kMinute = std::chrono::minutes(1);
  return took < kMinute ? fmt::format("{:.1f}s", std::chrono::duration<double>(took).count())
                        : age_text(took);
}

std::string slot_text(const api::SlotView& slot) { return cat(slot.gpu, '@', slot.start); }

void say_it_goes_on(std::uint64_t job) {
  fmt::print(stderr, "tangram: the move of job {} goes on; `tangram show {}` says where it is.\n",
             job, job);
}

}  // namespace tangram::cli
