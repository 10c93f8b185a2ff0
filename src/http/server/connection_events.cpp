// See connection.hpp: events, streamed as they are added (server-sent events). The state of a
// reader is the ID of the last event it was sent: a slow or reconnecting reader reads the pages it
// has missed, and nothing is queued for it. The ID advances only together with its event, so no
// event is lost or sent twice if the connection breaks.
#include <algorithm>

#include <boost/asio/post.hpp>

#include "base/text.hpp"
#include "http/server/session.hpp"

namespace tangram::http {
namespace {

constexpr std::size_t kPageSize = 64;  // small, so that readers catching up do not hold the loop
constexpr auto kBatchTime = std::chrono::milliseconds(2);  // wait for more events after the first
// Minimum time between two writes to a reader. Writing every event to every reader at once would be
// most of the daemon's work when there are many of both; the stagger spreads readers over time.
constexpr auto kMinInterval = std::chrono::milliseconds(20);
constexpr auto kStagger = std::chrono::milliseconds(1);
// Back-off and number of retries while the store is too busy to read old events (503).
constexpr auto kBackOff = std::chrono::milliseconds(100);
constexpr int kMaxRetries = 100;

std::string message_of(const StoredEvent& event) {
  return cat("id: ", event.id, "\nevent: ", event.kind, "\ndata: ", *event.json, "\n\n");
}

std::string gap_message(std::uint64_t after, std::uint64_t next) {
  return cat("event: gap\ndata: {\"after\":", after, ",\"next\":", next, "}\n\n");
}

// Returns the events of the page that the reader wants and advances request.after over all of them.
std::string text_of(const EventPage& page, EventStreamRequest& request) {
  std::string text;
  const std::uint64_t next = page.events.empty() ? page.last + 1 : page.events.front().id;
  // An ID beyond the newest event is from an earlier store.
  if (page.gap || page.last < request.after) {
    text = gap_message(request.after, next);
    request.after = next - 1;
  }
  for (const StoredEvent& event : page.events) {
    if (is_wanted(request, event)) text += message_of(event);
    request.after = event.id;
  }
  return text;
}

}  // namespace

Task<void> Session::pause_until(std::shared_ptr<PendingReply> pending, Timer::time_point until) {
  while (!pending->gone && Timer::clock_type::now() < until) {
    pending->wakeup.expires_at(until);
    co_await pending->wakeup.async_wait(kTuple);
  }
}

// Returns nullopt if the client has disconnected or the server is closing.
Task<std::optional<Answer<EventPage>>> Session::await_page(std::shared_ptr<PendingReply> pending,
                                                           const EventStreamRequest& request) {
  const auto result = std::make_shared<std::optional<Answer<EventPage>>>();
  const auto on_page = [result, weak = std::weak_ptr(pending)](Answer<EventPage> page) {
    *result = std::move(page);
    if (const auto waiter = weak.lock()) waiter->wakeup.cancel();
  };
  context_->handlers.events(request.caller, request.after, kPageSize, on_page);
  while (!*result && !pending->gone) {
    pending->wakeup.expires_at(Timer::time_point::max());
    co_await pending->wakeup.async_wait(kTuple);
  }
  co_return pending->gone ? std::nullopt : std::move(*result);
}

// Writes all events that there are now.
Task<bool> Session::write_pages(std::shared_ptr<PendingReply> pending, EventStreamRequest& request,
                                bool chunked) {
  int retries = 0;
  while (is_still_allowed(request.caller)) {
    const std::optional<Answer<EventPage>> answer = co_await await_page(pending, request);
    if (!answer) co_return false;
    const Answer<EventPage>& page = *answer;
    if (!page) {
      if (page.error().status != 503 || ++retries == kMaxRetries) co_return false;
      co_await pause_until(pending, Timer::clock_type::now() + kBackOff);
      continue;
    }
    retries = 0;
    std::string text = text_of(*page, request);
    if (!text.empty()) {
      const bool written = co_await write_text(std::move(text), chunked);
      if (!written) co_return false;
    } else if (!page->events.empty()) {
      // Yield: many pages without an event for this reader must not block the loop.
      co_await asio::post(stream_.get_executor(), kTuple);
    }
    if (page->events.empty() || request.after >= page->last) co_return true;
  }
  co_return false;
}

// Returns true if there are new events, false after the heartbeat interval.
Task<bool> Session::await_new_events(std::shared_ptr<PendingReply> pending) {
  const auto next_write = Timer::clock_type::now() + kMinInterval + kStagger * (number_ % 16);
  if (!pending->notified && !pending->gone) {
    pending->wakeup.expires_after(context_->options.heartbeat);
    co_await pending->wakeup.async_wait(kTuple);
  }
  const bool has_events = pending->notified;
  const auto batch_end = Timer::clock_type::now() + kBatchTime;
  if (has_events) co_await pause_until(pending, std::max(batch_end, next_write));
  co_return has_events;
}

Task<bool> Session::write_events(EventStreamRequest request, Frame frame) {
  const bool chunked = frame.version == 11;
  const bool begun = co_await write_stream_head("text/event-stream", frame, request.caller);
  if (!begun) co_return false;
  if (frame.head) co_return frame.keep_alive&& chunked;
  const std::shared_ptr<PendingReply> pending = begin_waiting();
  if (request.follow && context_->is_open) {
    pending->handles.push_back(context_->handlers.subscribe_events([weak = std::weak_ptr(pending)] {
      const auto waiter = weak.lock();
      if (waiter && !waiter->notified) waiter->notify();  // once: more would cut the pause short
    }));
  }
  while (true) {
    pending->notified = false;  // events from here on are written in the next round
    const bool written = co_await write_pages(pending, request, chunked);
    if (!written || pending->gone) co_return false;
    if (!request.follow) break;
    const bool has_events = co_await await_new_events(pending);
    if (pending->gone || !is_still_allowed(request.caller)) co_return false;
    if (has_events) continue;
    const bool alive = co_await write_text(": alive\n\n", chunked);
    if (!alive) co_return false;
  }
  stop_waiting();
  co_return co_await write_stream_end(frame);
}

}  // namespace tangram::http
