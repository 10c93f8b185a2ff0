// See connection.hpp: events, written as they come (server-sent events). A reader is nothing but a
// number, that of the last event he has had: one who is slow or was away reads the pages he missed,
// and nothing is kept for him. One rule: a number is passed on only together with its event, so
// that none is lost or doubled wherever the connection breaks.
#include <algorithm>

#include <boost/asio/post.hpp>

#include "base/text.hpp"
#include "http/session.hpp"

namespace tangram::http {
namespace {

constexpr std::size_t kPage = 64;  // of many who catch up at once: others come in between
constexpr auto kBurst = std::chrono::milliseconds(2);  // what rings so soon after goes along
// While much happens, each reader is written to so often: for so many readers, every single event
// would be most of what the daemon does.
constexpr auto kPause = std::chrono::milliseconds(20);
constexpr auto kApart = std::chrono::milliseconds(1);  // not to all at once: others come in between
// Too many read the past at once: he asks again, and again, before he is sent away.
constexpr auto kBusy = std::chrono::milliseconds(100);
constexpr int kMostTries = 100;

std::string message_of(const StoredEvent& event) {
  return cat("id: ", event.id, "\nevent: ", event.kind, "\ndata: ", *event.json, "\n\n");
}

std::string gap_message(std::uint64_t after, std::uint64_t next) {
  return cat("event: gap\ndata: {\"after\":", after, ",\"next\":", next, "}\n\n");
}

// What a page is to this reader; he has come so much further.
std::string text_of(const EventPage& page, EventWish& wish) {
  std::string text;
  const std::uint64_t next = page.events.empty() ? page.last + 1 : page.events.front().id;
  // A reader who has come further than there are events had them of a store that is no more.
  if (page.gap || page.last < wish.after) {
    text = gap_message(wish.after, next);
    wish.after = next - 1;
  }
  for (const StoredEvent& event : page.events) {
    if (is_wanted(wish, event)) text += message_of(event);
    wish.after = event.id;
  }
  return text;
}

}  // namespace

Task<void> Session::rest(std::shared_ptr<Pending> pending, Timer::time_point until) {
  while (!pending->gone && Timer::clock_type::now() < until) {
    pending->bell.expires_at(until);
    co_await pending->bell.async_wait(kTuple);
  }
}

// Nothing: he has left, or the server ends.
Task<std::optional<Answer<EventPage>>> Session::await_page(std::shared_ptr<Pending> pending,
                                                           const EventWish& wish) {
  const auto found = std::make_shared<std::optional<Answer<EventPage>>>();
  const auto take = [found, weak = std::weak_ptr(pending)](Answer<EventPage> page) {
    *found = std::move(page);
    if (const auto waiting = weak.lock()) waiting->bell.cancel();
  };
  house_->doors.events(wish.caller, wish.after, kPage, take);
  while (!*found && !pending->gone) {
    pending->bell.expires_at(Timer::time_point::max());
    co_await pending->bell.async_wait(kTuple);
  }
  co_return pending->gone ? std::nullopt : std::move(*found);
}

// All there is now.
Task<bool> Session::write_pages(std::shared_ptr<Pending> pending, EventWish& wish, bool chunked) {
  int tries = 0;
  while (may_go_on(wish.caller)) {
    const std::optional<Answer<EventPage>> answer = co_await await_page(pending, wish);
    if (!answer) co_return false;
    const Answer<EventPage>& page = *answer;
    if (!page) {
      if (page.error().status != 503 || ++tries == kMostTries) co_return false;
      co_await rest(pending, Timer::clock_type::now() + kBusy);
      continue;
    }
    tries = 0;
    std::string text = text_of(*page, wish);
    if (!text.empty()) {
      const bool written = co_await write_text(std::move(text), chunked);
      if (!written) co_return false;
    } else if (!page->events.empty()) {
      // Many pages without a word for this reader must not keep the others waiting.
      co_await asio::post(stream_.get_executor(), kTuple);
    }
    if (page->events.empty() || wish.after >= page->last) co_return true;
  }
  co_return false;
}

// true: something has happened; false: only time has passed.
Task<bool> Session::await_ring(std::shared_ptr<Pending> pending) {
  const auto pause_ends = Timer::clock_type::now() + kPause + kApart * (number_ % 16);
  if (!pending->rung && !pending->gone) {
    pending->bell.expires_after(house_->options.heartbeat);
    co_await pending->bell.async_wait(kTuple);
  }
  const bool rung = pending->rung;
  const auto burst_ends = Timer::clock_type::now() + kBurst;
  if (rung) co_await rest(pending, std::max(burst_ends, pause_ends));
  co_return rung;
}

Task<bool> Session::write_events(EventWish wish, Frame frame) {
  const bool chunked = frame.version == 11;
  const bool begun = co_await write_stream_head("text/event-stream", frame, wish.caller);
  if (!begun) co_return false;
  if (frame.head) co_return frame.keep_alive&& chunked;
  const std::shared_ptr<Pending> pending = begin_waiting();
  if (wish.follow && house_->open) {
    pending->tokens.push_back(house_->doors.listen([weak = std::weak_ptr(pending)] {
      const auto waiting = weak.lock();
      if (waiting && !waiting->rung) waiting->ring();  // once: more would end his rest
    }));
  }
  while (true) {
    pending->rung = false;  // what rings from here on is looked for in the next round
    const bool written = co_await write_pages(pending, wish, chunked);
    if (!written || pending->gone) co_return false;
    if (!wish.follow) break;
    const bool news = co_await await_ring(pending);
    if (pending->gone || !may_go_on(wish.caller)) co_return false;
    if (news) continue;
    const bool alive = co_await write_text(": alive\n\n", chunked);
    if (!alive) co_return false;
  }
  stop_waiting();
  co_return co_await write_stream_end(frame);
}

}  // namespace tangram::http
