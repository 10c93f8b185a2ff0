// See keep_alive_pool.hpp.
#include "endpoint/http/keep_alive_pool.hpp"

#include <algorithm>
#include <utility>

namespace tangram::endpoint {

void KeepAlivePool::put(std::shared_ptr<Socket> socket) {
  if (idle_.size() >= capacity_) {
    socket->close();
    return;
  }
  socket->set_owner(this);
  socket->read(Buffer::kInitialSize);
  IdleConnection idle{.socket = std::move(socket), .since = std::chrono::steady_clock::now()};
  if (needs_probe()) {
    probe_ = std::move(idle);
  } else {
    idle_.push_back(std::move(idle));
  }
}

std::shared_ptr<Socket> KeepAlivePool::take(Socket::Owner& owner) {
  close_expired(std::chrono::steady_clock::now());
  if (idle_.empty()) return nullptr;
  std::shared_ptr<Socket> socket = std::move(idle_.back().socket);
  idle_.pop_back();
  socket->set_owner(&owner);
  return socket;
}

std::shared_ptr<Socket> KeepAlivePool::take_for_non_idempotent(Socket::Owner& owner) {
  if (keep_alive_policy_ != KeepAlivePolicy::kKeepsOpen || idle_.empty()) return nullptr;
  const IdleConnection& last = idle_.back();
  const auto age = std::chrono::steady_clock::now() - last.since;
  const bool is_open = last.socket->is_open_and_quiet();
  if (age <= kMaxIdleForNonIdempotent && is_open) return take(owner);
  if (!is_open) mark_unreliable();
  // Close it: a replica that serves one connection at a time would wait for this one.
  last.socket->close();
  idle_.pop_back();
  return nullptr;
}

void KeepAlivePool::close_expired(std::chrono::steady_clock::time_point now) {
  check_probe(now);
  const auto young = std::ranges::find_if(
      idle_, [&](const IdleConnection& idle) { return now - idle.since <= kMaxIdle; });
  std::for_each(idle_.begin(), young, [](const IdleConnection& idle) { idle.socket->close(); });
  idle_.erase(idle_.begin(), young);
}

void KeepAlivePool::check_probe(std::chrono::steady_clock::time_point now) {
  if (!probe_.socket || now - probe_.since <= kMaxIdle) return;
  if (keep_alive_policy_ == KeepAlivePolicy::kUnknown) {
    keep_alive_policy_ = probe_.socket->is_open_and_quiet() ? KeepAlivePolicy::kKeepsOpen
                                                            : KeepAlivePolicy::kClosesIdle;
  }
  std::exchange(probe_.socket, nullptr)->close();
}

void KeepAlivePool::clear() {
  for (const IdleConnection& idle : idle_) idle.socket->close();
  idle_.clear();
  if (probe_.socket) std::exchange(probe_.socket, nullptr)->close();
  keep_alive_policy_ = KeepAlivePolicy::kUnknown;
}

void KeepAlivePool::on_bytes(Socket& socket) {
  const auto self = socket.shared_from_this();
  mark_unreliable();
  socket.close();
  std::erase_if(idle_, [&](const IdleConnection& idle) { return idle.socket.get() == &socket; });
  if (probe_.socket.get() == &socket) probe_.socket.reset();
}

}  // namespace tangram::endpoint
