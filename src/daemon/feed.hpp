// Feed: what happened, for those who follow along. The newest events are in memory, ready to be
// sent and shared by all who follow; older ones are read from the store by the Reader, a page at a
// time. One rule: it tells only what is durable, every event once and in order.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "daemon/access.hpp"
#include "daemon/engine.hpp"
#include "http/doors.hpp"

namespace tangram::daemon {

class Reader;

class Feed {
 public:
  Feed(Engine& engine, Reader& reader, const Access& access)
      : reader_(reader), access_(access), last_(engine.store().last_event()) {}

  void fill(http::Doors& doors);
  // A batch is on the disk.
  void publish(const std::vector<store::EventRow>& events);

 private:
  using Ring = std::function<void()>;

  void events(const http::Caller& caller, std::uint64_t after, std::size_t most,
              const http::Reply<http::EventPage>& reply);
  void older(const http::Caller& caller, std::uint64_t after, std::size_t most,
             const http::Reply<http::EventPage>& reply);

  Reader& reader_;
  const Access& access_;
  std::uint64_t last_;                    // event that may be told; the store may have more already
  std::deque<http::StoredEvent> newest_;  // without gaps up to the last one there is
  std::size_t bytes_ = 0;                 // of theirs
  std::vector<std::weak_ptr<Ring>> listeners_;
};

}  // namespace tangram::daemon
