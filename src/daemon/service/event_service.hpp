// EventService: events for clients that follow them. The newest events are in memory and shared by
// all followers; older ones are read from the store by the HistoryReader, a page at a time. Only
// durable events are returned, each once and in order. Used on the loop only.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "daemon/access/access.hpp"
#include "daemon/engine/engine.hpp"
#include "http/routes/api_handlers.hpp"

namespace tangram::daemon {

class HistoryReader;

class EventService {
 public:
  EventService(Engine& engine, HistoryReader& reader, const Access& access)
      : reader_(reader), access_(access), last_(engine.store().last_event()) {}

  void register_handlers(http::ApiHandlers& handlers);
  // Call with the events of a batch once it is durable.
  void publish(const std::vector<store::EventRow>& events);

 private:
  using OnEvents = std::function<void()>;

  void events(const http::Caller& caller, std::uint64_t after, std::size_t most,
              const http::Reply<http::EventPage>& reply);
  void read_older(const http::Caller& caller, std::uint64_t after, std::size_t most,
                  const http::Reply<http::EventPage>& reply);

  HistoryReader& reader_;
  const Access& access_;
  std::uint64_t last_;                    // last durable event; the store may have more
  std::deque<http::StoredEvent> newest_;  // without gaps, up to last_
  std::size_t bytes_ = 0;                 // size of newest_
  std::vector<std::weak_ptr<OnEvents>> listeners_;
};

}  // namespace tangram::daemon
