// See connector.hpp.
#include "endpoint/relay/connector.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "base/text.hpp"

namespace tangram::endpoint {
namespace {

using std::chrono::milliseconds;

// A replica that refuses is usually starting or ending, so it is retried soon.
constexpr milliseconds kInitialBackoff{5};
constexpr milliseconds kMaxBackoff{100};

constexpr milliseconds kHalfCloseGrace{1'000};

}  // namespace

void Connector::start() {
  stage_ = Stage::kIdle;
  half_close_grace_.reset();
  is_foreign_ = false;
  proceed();
}

void Connector::proceed() {
  const Moment now = std::chrono::steady_clock::now();
  const std::optional<Route> route = context_.routes.current();
  if (!route) {
    context_.routes.wait(exchange_);
    if (stage_ != Stage::kNoRoute && stage_ != Stage::kQueued) deadline_ = now + context_.spec.wait;
    stage_ = Stage::kNoRoute;
    context_.connect_throttle.release(*this);
    return;
  }
  if (!context_.connect_throttle.try_acquire(*this)) {
    context_.routes.wait(exchange_);
    if (stage_ != Stage::kQueued) deadline_ = now + context_.spec.wait;
    stage_ = Stage::kQueued;
    return;
  }
  const bool is_retry = stage_ == Stage::kConnecting || stage_ == Stage::kBackingOff;
  if (!is_retry || route_ != *route) {  // the full connect timeout for each replica
    deadline_ = now + context_.spec.connect;
    next_backoff_ = kInitialBackoff;
  }
  attempt_ = now;
  connect(*route);
}

void Connector::connect(const Route& route) {
  stage_ = Stage::kConnecting;
  route_ = route;
  CHECK(context_.routes.attach(exchange_));
  socket_ = std::make_shared<Socket>(context_.loop, &owner_);
  socket_->connect(route.port);
}

void Connector::reconnect() {
  std::exchange(socket_, nullptr)->close();
  proceed();
}

void Connector::on_route() {
  if (!is_connecting()) return;
  if (socket_) std::exchange(socket_, nullptr)->close();
  if (timer_) timer_->cancel();
  proceed();
}

std::shared_ptr<Socket> Connector::on_connected(bool connected) {
  std::shared_ptr<Socket> socket = std::exchange(socket_, nullptr);
  is_foreign_ = connected && !is_of_service(*socket);
  if (connected && !is_foreign_) {
    stage_ = Stage::kIdle;
    context_.connect_throttle.release(*this);
    return socket;
  }
  socket->close();
  back_off();
  return nullptr;
}

bool Connector::is_of_service(Socket& socket) {
  const auto owner = context_.socket_owner.of_peer(socket.descriptor());
  if (owner && *owner == context_.service_uid) return true;
  context_.on_foreign_replica(
      owner ? cat("port ", route_.port, " of run ", route_.run, " is in use by uid ", *owner)
            : cat("run ", route_.run, ": ", owner.error().message));
  return false;
}

void Connector::back_off() {
  stage_ = Stage::kBackingOff;
  context_.routes.wait(exchange_);
  if (!timer_) timer_ = std::make_shared<boost::asio::steady_timer>(context_.loop);
  timer_->expires_after(next_backoff_);
  next_backoff_ = std::min(next_backoff_ * 2, kMaxBackoff);
  timer_->async_wait([this, alive = std::weak_ptr(timer_)](boost::system::error_code status) {
    if (!status && alive.lock() && stage_ == Stage::kBackingOff) proceed();
  });
}

void Connector::stop() {
  stage_ = Stage::kIdle;
  if (socket_) std::exchange(socket_, nullptr)->close();
  timer_.reset();
  context_.connect_throttle.release(*this);
}

bool Connector::is_abandoned(Socket& client, Moment now) {
  if (!is_connecting() || !client.has_peer_half_closed()) return false;
  return half_close_grace_.has_passed(now);
}

bool HalfCloseGrace::has_passed(Moment now) {
  if (!since_) since_ = now;
  return now - *since_ >= kHalfCloseGrace;
}

}  // namespace tangram::endpoint
