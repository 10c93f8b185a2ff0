// See connect_throttle.hpp.
#include "endpoint/relay/connect_throttle.hpp"

#include <utility>
#include <vector>

#include "endpoint/relay/connector.hpp"

namespace tangram::endpoint {
namespace {

constexpr std::chrono::milliseconds kCheckInterval{25};
// The replica is on this machine: its kernel answers at once or has dropped the SYN.
constexpr std::chrono::milliseconds kUnansweredAfter{100};
// Restarting all at once would fill the backlog again.
constexpr std::size_t kMaxRetriesPerCheck = ConnectThrottle::kMaxConcurrent / 4;

}  // namespace

bool ConnectThrottle::try_acquire(Connector& connector) {
  using State = Slot::State;
  if (connector.slot_.state == State::kActive) {
    active_.splice(active_.end(), active_, connector.slot_.at);
    return true;
  }
  if (connector.slot_.state == State::kWaiting) return false;
  const bool is_free = waiting_.empty() && active_.size() < kMaxConcurrent;
  put(connector, is_free ? State::kActive : State::kWaiting);
  return is_free;
}

void ConnectThrottle::put(Connector& connector, Slot::State state) {
  auto& list = state == Slot::State::kActive ? active_ : waiting_;
  connector.slot_ = {state, list.insert(list.end(), &connector)};
  schedule_check();
}

void ConnectThrottle::release(Connector& connector) {
  const Slot slot = std::exchange(connector.slot_, {});
  if (slot.state == Slot::State::kWaiting) waiting_.erase(slot.at);
  if (slot.state != Slot::State::kActive) return;
  active_.erase(slot.at);
  admit_waiting();
}

// on_slot() may call release() at once (the route is gone), so this must not recurse.
void ConnectThrottle::admit_waiting() {
  if (std::exchange(is_admitting_, true)) return;
  while (active_.size() < kMaxConcurrent && !waiting_.empty()) {
    Connector& next = *waiting_.front();
    waiting_.pop_front();
    put(next, Slot::State::kActive);
    next.on_slot();
  }
  is_admitting_ = false;
}

void ConnectThrottle::schedule_check() {
  if (active_.empty() || std::exchange(is_check_scheduled_, true)) return;
  check_timer_.expires_after(kCheckInterval);
  check_timer_.async_wait([this](boost::system::error_code status) {
    is_check_scheduled_ = false;
    if (status) return;
    restart_unanswered(std::chrono::steady_clock::now());
    schedule_check();
  });
}

void ConnectThrottle::restart_unanswered(std::chrono::steady_clock::time_point now) {
  std::vector<Connector*> silent;
  for (Connector* connector : active_) {
    if (silent.size() == kMaxRetriesPerCheck) break;
    if (connector->is_unanswered(now - kUnansweredAfter)) silent.push_back(connector);
  }
  for (Connector* connector : silent) connector->reconnect();
}

}  // namespace tangram::endpoint
