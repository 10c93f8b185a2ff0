// See dial.hpp.
#include "endpoint/dial.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace tangram::endpoint {
namespace {

using std::chrono::milliseconds;

// A replica that refuses is just starting or just ending; what changes is seen soon.
constexpr milliseconds kFirstPause{5};
constexpr milliseconds kLongestPause{100};

constexpr milliseconds kAfterHalfAnEnd{1'000};

}  // namespace

void Dial::start() {
  stage_ = Stage::kIdle;
  left_.reset();
  go();
}

void Dial::go() {
  const Moment now = std::chrono::steady_clock::now();
  const std::optional<Route> route = house_.routes.current();
  if (!route) {
    house_.routes.wait(traveller_);
    if (stage_ != Stage::kWaiting && stage_ != Stage::kQueued) deadline_ = now + house_.spec.wait;
    stage_ = Stage::kWaiting;
    return house_.turns.leave(*this);
  }
  if (!house_.turns.take(*this)) {
    house_.routes.wait(traveller_);
    if (stage_ != Stage::kQueued) deadline_ = now + house_.spec.wait;
    stage_ = Stage::kQueued;
    return;
  }
  const bool goes_on = stage_ == Stage::kConnecting || stage_ == Stage::kPausing;
  if (!goes_on || route_ != *route) {  // another replica has all the time that one has
    deadline_ = now + house_.spec.connect;
    next_pause_ = kFirstPause;
  }
  attempt_ = now;
  connect(*route);
}

void Dial::connect(const Route& route) {
  stage_ = Stage::kConnecting;
  route_ = route;
  CHECK(house_.routes.enter(traveller_));
  wire_ = std::make_shared<Wire>(house_.loop, &owner_);
  wire_->connect(route.port);
}

void Dial::begin_anew() {
  std::exchange(wire_, nullptr)->close();
  go();
}

void Dial::on_route() {
  if (!is_under_way()) return;
  if (wire_) std::exchange(wire_, nullptr)->close();
  if (timer_) timer_->cancel();
  go();
}

std::shared_ptr<Wire> Dial::on_connected(bool connected) {
  std::shared_ptr<Wire> wire = std::exchange(wire_, nullptr);
  if (connected) {
    stage_ = Stage::kIdle;
    house_.turns.leave(*this);
    return wire;
  }
  wire->close();
  pause();
  return nullptr;
}

void Dial::pause() {
  stage_ = Stage::kPausing;
  house_.routes.wait(traveller_);
  if (!timer_) timer_ = std::make_shared<boost::asio::steady_timer>(house_.loop);
  timer_->expires_after(next_pause_);
  next_pause_ = std::min(next_pause_ * 2, kLongestPause);
  timer_->async_wait([this, alive = std::weak_ptr(timer_)](boost::system::error_code status) {
    if (!status && alive.lock() && stage_ == Stage::kPausing) go();
  });
}

void Dial::stop() {
  stage_ = Stage::kIdle;
  if (wire_) std::exchange(wire_, nullptr)->close();
  timer_.reset();
  house_.turns.leave(*this);
}

bool Dial::is_unwanted(Wire& client, Moment now) {
  if (!is_under_way() || !client.has_left()) return false;
  if (!left_) left_ = now;
  return now - *left_ >= kAfterHalfAnEnd;
}

}  // namespace tangram::endpoint
