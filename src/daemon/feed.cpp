// See feed.hpp.
#include "daemon/feed.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "daemon/problems.hpp"
#include "daemon/reader.hpp"
#include "daemon/replying.hpp"

namespace tangram::daemon {
namespace {

constexpr std::size_t kMostKept = 65'536;
constexpr std::size_t kMostBytes = std::size_t{64} << 20U;
constexpr std::size_t kMostAtOnce = 1'000;  // the loop has others to serve

// The kind is found in the text itself: quotes within other values are escaped there.
http::StoredEvent stored(const store::EventRow& row) {
  http::StoredEvent event;
  event.id = row.id;
  event.job = row.job;
  event.json = std::make_shared<const std::string>(row.event);
  const std::string key = "\"kind\":\"";
  const std::size_t at = event.json->find(key + row.kind + "\"");
  if (at != std::string::npos) {
    event.kind = std::string_view(*event.json).substr(at + key.size(), row.kind.size());
  }
  return event;
}

}  // namespace

void Feed::fill(http::Doors& doors) {
  doors.last_event = [this](const http::Caller& caller) -> http::Answer<std::uint64_t> {
    if (auto admitted = access_.admit(caller); !admitted) return std::unexpected(admitted.error());
    return last_;
  };
  doors.events = [this](const http::Caller& caller, std::uint64_t after, std::size_t most,
                        const http::Reply<http::EventPage>& reply) {
    events(caller, after, most, reply);
  };
  doors.listen = [this](Ring ring) -> std::shared_ptr<void> {
    std::erase_if(listeners_, [](const auto& each) { return each.expired(); });
    auto listener = std::make_shared<Ring>(std::move(ring));
    listeners_.push_back(listener);
    return listener;
  };
}

void Feed::publish(const std::vector<store::EventRow>& events) {
  for (const store::EventRow& row : events) {
    newest_.push_back(stored(row));
    bytes_ += row.event.size();
  }
  if (!events.empty()) last_ = events.back().id;
  while (newest_.size() > kMostKept || bytes_ > kMostBytes) {
    bytes_ -= newest_.front().json->size();
    newest_.pop_front();
  }
  // Whoever is rung may leave, or bring others.
  std::vector<std::shared_ptr<Ring>> rung;
  for (const auto& each : listeners_) {
    if (auto ring = each.lock()) rung.push_back(std::move(ring));
  }
  for (const auto& ring : rung) (*ring)();
}

void Feed::events(const http::Caller& caller, std::uint64_t after, std::size_t most,
                  const http::Reply<http::EventPage>& reply) {
  if (auto admitted = access_.admit(caller); !admitted) {
    return reply(std::unexpected(admitted.error()));
  }
  most = std::min(most, kMostAtOnce);
  http::EventPage page;
  page.last = last_;
  if (after >= page.last) return reply(page);
  if (newest_.empty() || after + 1 < newest_.front().id) return older(caller, after, most, reply);
  const auto first = static_cast<std::ptrdiff_t>(after + 1 - newest_.front().id);
  const auto count =
      std::min<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(most), std::ssize(newest_) - first);
  page.events.assign(newest_.begin() + first, newest_.begin() + first + count);
  reply(page);
}

// A page is of one moment, whatever is committed or trimmed meanwhile, and the next one is asked
// for by the number of its last event: so none is lost or told twice.
void Feed::older(const http::Caller& caller, std::uint64_t after, std::size_t most,
                 const http::Reply<http::EventPage>& reply) {
  const auto look = [after, most](store::Store& store) -> Result<http::EventPage> {
    const auto rows = store.events(after, most);
    if (!rows) return std::unexpected(rows.error());
    http::EventPage page;
    page.gap = !rows->empty() && rows->front().id != after + 1;
    for (const store::EventRow& row : *rows) page.events.push_back(stored(row));
    return page;
  };
  const auto then = [this, told = replying(reply)](Result<http::EventPage> page) {
    if (page) {
      page->last = last_;
      std::erase_if(page->events, [&](const auto& event) { return event.id > last_; });
    }
    told(std::move(page));
  };
  if (!reader_.ask<http::EventPage>(caller.uid, look, then)) reply(std::unexpected(too_busy()));
}

}  // namespace tangram::daemon
