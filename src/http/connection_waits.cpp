// See connection.hpp: what a request waits for: to be known who asks, the disk, its answer. One
// rule: nobody waits longer than he stays, and nothing of the daemon is called for one who has
// left.
#include <algorithm>

#include <boost/asio/bind_cancellation_slot.hpp>

#include "http/identity.hpp"
#include "http/session.hpp"

namespace tangram::http {
namespace {

constexpr auto kLookAgain = std::chrono::milliseconds(10);
constexpr auto kDiskTime = std::chrono::seconds(1);

}  // namespace

// One of whom nobody knows yet who he is waits until it was found out, or has taken too long; the
// others do not notice.
Task<void> Session::await_introduction(const Caller& caller) {
  const auto is_settled = [&] {
    return !house_->doors.is_settled || house_->doors.is_settled(caller);
  };
  if (is_stranger(caller) || is_settled()) co_return;
  const std::shared_ptr<Pending> pending = begin_waiting();
  while (!pending->gone && house_->open && !is_settled()) {
    pending->bell.expires_after(kLookAgain);
    co_await pending->bell.async_wait(kTuple);
  }
  if (!pending->gone) stop_waiting();
}

// What he asks for may depend on what is just being written: then he waits as long, but not for a
// disk that hangs.
Task<void> Session::await_disk(const Request& request) {
  const Doors& doors = house_->doors;
  if (!doors.is_lasting || request.concern == Concern::kNothing) co_return;
  const auto job = request.concern == Concern::kJob ? std::optional(request.id) : std::nullopt;
  if (doors.is_lasting(job)) co_return;
  const std::shared_ptr<Pending> pending = begin_waiting();
  pending->tokens.push_back(doors.when_lasting([weak = std::weak_ptr(pending)] {
    if (const auto waiting = weak.lock()) waiting->ring();
  }));
  const auto until = Timer::clock_type::now() + kDiskTime;
  while (!pending->gone && !doors.is_lasting(job) && Timer::clock_type::now() < until) {
    pending->bell.expires_at(until);
    co_await pending->bell.async_wait(kTuple);
  }
  if (!pending->gone) stop_waiting();
}

// A client that closes its socket is seen as an error on ours (EPOLLHUP), also while nothing is
// read; one that has only finished writing is not.
std::shared_ptr<Pending> Session::begin_waiting() {
  pending_ = std::make_shared<Pending>(stream_.get_executor());
  stream_.socket().async_wait(
      asio::socket_base::wait_error,
      asio::bind_cancellation_slot(departure_.slot(),
                                   [weak = std::weak_ptr(pending_)](ErrorStatus status) {
                                     const auto pending = weak.lock();
                                     if (status || !pending) return;
                                     pending->gone = true;
                                     pending->tokens.clear();
                                     pending->ring();
                                   }));
  return pending_;
}

void Session::stop_waiting() {
  if (!pending_) return;
  departure_.emit(asio::cancellation_type::terminal);
  pending_->gone = true;
  pending_->tokens.clear();
  pending_->ring();
  pending_.reset();
}

// Until there is an answer, the time is used up, or he would not be let in any more: false.
Task<bool> Session::await_bell(std::shared_ptr<Pending> pending, const Later& later) {
  using Clock = Timer::clock_type;
  const bool looks = later.waits && later.waits->token;
  const auto until = later.patience ? Clock::now() + *later.patience : Clock::time_point::max();
  while (!pending->rung && Clock::now() < until) {
    const auto next = looks ? Clock::now() + house_->options.heartbeat : until;
    pending->bell.expires_at(std::min(until, next));
    co_await pending->bell.async_wait(kTuple);
    if (!pending->gone && looks && !may_go_on(*later.waits)) co_return false;
  }
  co_return true;
}

Task<std::optional<Response>> Session::await_answer(Later later) {
  const std::shared_ptr<Pending> pending = begin_waiting();
  std::shared_ptr<void> token = later.ask([weak = std::weak_ptr(pending)](Response response) {
    const auto waiting = weak.lock();
    if (!waiting || waiting->response) return;
    waiting->response = std::move(response);
    waiting->ring();
  });
  pending->tokens.push_back(std::move(token));
  later.ask = nullptr;
  const bool welcome = co_await await_bell(pending, later);
  if (pending->gone) co_return std::nullopt;
  std::optional<Response> response = std::move(pending->response);
  stop_waiting();
  if (!welcome) {
    if (!response && later.tell) later.tell(401, "");
    co_return unauthorized(
        problem(401, "unauthorized", "the token you showed has expired or was revoked meanwhile."));
  }
  if (!response) response = std::move(later.too_late);
  co_return response;
}

}  // namespace tangram::http
