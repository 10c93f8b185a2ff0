// See event_service.hpp.
#include "daemon/service/event_service.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "daemon/access/problems.hpp"
#include "daemon/views/history_reader.hpp"
#include "daemon/views/read_reply.hpp"

namespace tangram::daemon {
namespace {

constexpr std::size_t kMaxKeptEvents = 65'536;
constexpr std::size_t kMaxKeptBytes = std::size_t{64} << 20U;
constexpr std::size_t kMaxPageEvents = 1'000;  // bounds the time on the loop

// `kind` points into the JSON text. The search cannot match another value: quotes are escaped
// there.
http::StoredEvent stored(const store::EventRow& row) {
  http::StoredEvent event;
  event.id = row.id;
  event.job = row.job;
  event.json = std::make_shared<const std::string>(row.event);
  const std::string key = R"("kind":")";
  const std::size_t at = event.json->find(key + row.kind + "\"");
  if (at != std::string::npos) {
    event.kind = std::string_view(*event.json).substr(at + key.size(), row.kind.size());
  }
  return event;
}

}  // namespace

void EventService::register_handlers(http::ApiHandlers& handlers) {
  handlers.last_event = [this](const http::Caller& caller) -> http::Answer<std::uint64_t> {
    if (auto admitted = access_.admit(caller); !admitted) return std::unexpected(admitted.error());
    return last_;
  };
  handlers.events = [this](const http::Caller& caller, std::uint64_t after, std::size_t most,
                           const http::Reply<http::EventPage>& reply) {
    events(caller, after, most, reply);
  };
  handlers.subscribe_events = [this](OnEvents on_events) -> std::shared_ptr<void> {
    std::erase_if(listeners_, [](const auto& each) { return each.expired(); });
    auto listener = std::make_shared<OnEvents>(std::move(on_events));
    listeners_.push_back(listener);
    return listener;
  };
}

void EventService::publish(const std::vector<store::EventRow>& events) {
  for (const store::EventRow& row : events) {
    newest_.push_back(stored(row));
    bytes_ += row.event.size();
  }
  if (!events.empty()) last_ = events.back().id;
  while (newest_.size() > kMaxKeptEvents || bytes_ > kMaxKeptBytes) {
    bytes_ -= newest_.front().json->size();
    newest_.pop_front();
  }
  // Collected first: a callback may add or remove listeners.
  std::vector<std::shared_ptr<OnEvents>> callbacks;
  for (const auto& each : listeners_) {
    if (auto callback = each.lock()) callbacks.push_back(std::move(callback));
  }
  for (const auto& callback : callbacks) (*callback)();
}

void EventService::events(const http::Caller& caller, std::uint64_t after, std::size_t most,
                          const http::Reply<http::EventPage>& reply) {
  if (auto admitted = access_.admit(caller); !admitted) {
    reply(std::unexpected(admitted.error()));
    return;
  }
  most = std::min(most, kMaxPageEvents);
  http::EventPage page;
  page.last = last_;
  if (after >= page.last) {
    reply(page);
    return;
  }
  if (newest_.empty() || after + 1 < newest_.front().id) {
    read_older(caller, after, most, reply);
    return;
  }
  const auto first = static_cast<std::ptrdiff_t>(after + 1 - newest_.front().id);
  const auto count =
      std::min<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(most), std::ssize(newest_) - first);
  page.events.assign(newest_.begin() + first, newest_.begin() + first + count);
  reply(page);
}

// A page is read in one transaction, and the next one starts after its last event, so that no event
// is lost or repeated, whatever is committed or trimmed meanwhile.
void EventService::read_older(const http::Caller& caller, std::uint64_t after, std::size_t most,
                              const http::Reply<http::EventPage>& reply) {
  const auto read = [after, most](store::Store& store) -> Result<http::EventPage> {
    const auto rows = store.events(after, most);
    if (!rows) return std::unexpected(rows.error());
    http::EventPage page;
    page.gap = !rows->empty() && rows->front().id != after + 1;
    for (const store::EventRow& row : *rows) page.events.push_back(stored(row));
    return page;
  };
  const auto on_result = [this, send = reply_with(reply)](Result<http::EventPage> page) {
    if (page) {
      page->last = last_;
      std::erase_if(page->events, [&](const auto& event) { return event.id > last_; });
    }
    send(std::move(page));
  };
  if (!reader_.query<http::EventPage>(caller.uid, read, on_result))
    reply(std::unexpected(too_busy()));
}

}  // namespace tangram::daemon
