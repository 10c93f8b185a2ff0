// See dial.hpp.
#include "endpoint/dial.hpp"

#include <algorithm>
#include <utility>

namespace tangram::endpoint {
namespace {

using std::chrono::milliseconds;

// A replica that refuses is just starting or just ending; what changes is seen soon.
constexpr milliseconds kFirstPause{5};
constexpr milliseconds kLongestPause{100};

}  // namespace

void Dial::start() {
  stage_ = Stage::kIdle;
  go();
}

void Dial::go() {
  const Moment now = std::chrono::steady_clock::now();
  const auto route = house_.routes.enter(traveller_);
  if (!route) {
    if (stage_ != Stage::kWaiting) deadline_ = now + house_.spec.wait;
    stage_ = Stage::kWaiting;
    return;
  }
  if (stage_ == Stage::kIdle || stage_ == Stage::kWaiting) {
    deadline_ = now + house_.spec.connect;
    next_pause_ = kFirstPause;
  }
  stage_ = Stage::kConnecting;
  route_ = *route;
  wire_ = std::make_shared<Wire>(house_.loop, &owner_);
  wire_->connect(route->port);
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
}

}  // namespace tangram::endpoint
