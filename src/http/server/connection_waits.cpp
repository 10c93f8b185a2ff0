// See connection.hpp: what a request waits for: the lookup of its user, durability, its response. A
// wait ends at the latest when the client disconnects, and no handler is called for it after that.
#include <algorithm>

#include <boost/asio/bind_cancellation_slot.hpp>

#include "http/routes/identity.hpp"
#include "http/server/session.hpp"

namespace tangram::http {
namespace {

constexpr auto kIdentityPoll = std::chrono::milliseconds(10);
constexpr auto kMaxDurabilityWait = std::chrono::seconds(1);

}  // namespace

// Waits until the lookup of the caller's user has finished or timed out. Other requests continue.
Task<void> Session::await_identity(const Caller& caller) {
  const auto identity_known = [&] {
    return !context_->handlers.identity_known || context_->handlers.identity_known(caller);
  };
  if (is_unauthenticated(caller) || identity_known()) co_return;
  const std::shared_ptr<PendingReply> pending = begin_waiting();
  while (!pending->gone && context_->is_open && !identity_known()) {
    pending->wakeup.expires_after(kIdentityPoll);
    co_await pending->wakeup.async_wait(kTuple);
  }
  if (!pending->gone) stop_waiting();
}

// Waits until what the request may report is durable, but not for long if the disk hangs.
Task<void> Session::await_durability(const Request& request) {
  const ApiHandlers& handlers = context_->handlers;
  if (!handlers.is_durable || request.durability == DurabilityNeed::kNothing) co_return;
  const auto job =
      request.durability == DurabilityNeed::kJob ? std::optional(request.id) : std::nullopt;
  if (handlers.is_durable(job)) co_return;
  const std::shared_ptr<PendingReply> pending = begin_waiting();
  pending->handles.push_back(handlers.on_durable([weak = std::weak_ptr(pending)] {
    if (const auto waiter = weak.lock()) waiter->notify();
  }));
  const auto until = Timer::clock_type::now() + kMaxDurabilityWait;
  while (!pending->gone && !handlers.is_durable(job) && Timer::clock_type::now() < until) {
    pending->wakeup.expires_at(until);
    co_await pending->wakeup.async_wait(kTuple);
  }
  if (!pending->gone) stop_waiting();
}

// A client that closes its socket is reported as an error on ours (EPOLLHUP), although nothing is
// being read; a half-close (the client has only shut down writing) is not.
std::shared_ptr<PendingReply> Session::begin_waiting() {
  pending_ = std::make_shared<PendingReply>(stream_.get_executor());
  stream_.socket().async_wait(
      asio::socket_base::wait_error,
      asio::bind_cancellation_slot(disconnect_signal_.slot(),
                                   [weak = std::weak_ptr(pending_)](ErrorStatus status) {
                                     const auto waiter = weak.lock();
                                     if (status || !waiter) return;
                                     waiter->gone = true;
                                     waiter->handles.clear();
                                     waiter->notify();
                                   }));
  return pending_;
}

void Session::stop_waiting() {
  if (!pending_) return;
  disconnect_signal_.emit(asio::cancellation_type::terminal);
  pending_->gone = true;
  pending_->handles.clear();
  pending_->notify();
  pending_.reset();
}

// Waits for the response or the timeout. False: the caller's token is no longer valid.
Task<bool> Session::await_wakeup(std::shared_ptr<PendingReply> pending,
                                 const DeferredResponse& deferred) {
  using Clock = Timer::clock_type;
  const bool revalidates = deferred.revalidate && deferred.revalidate->token;
  const auto until = deferred.timeout ? Clock::now() + *deferred.timeout : Clock::time_point::max();
  while (!pending->notified && Clock::now() < until) {
    const auto next = revalidates ? Clock::now() + context_->options.heartbeat : until;
    pending->wakeup.expires_at(std::min(until, next));
    co_await pending->wakeup.async_wait(kTuple);
    if (!pending->gone && revalidates && !is_still_allowed(*deferred.revalidate)) co_return false;
  }
  co_return true;
}

Task<std::optional<Response>> Session::await_response(DeferredResponse deferred) {
  const std::shared_ptr<PendingReply> pending = begin_waiting();
  std::shared_ptr<void> handle = deferred.start([weak = std::weak_ptr(pending)](Response response) {
    const auto waiter = weak.lock();
    if (!waiter || waiter->response) return;
    waiter->response = std::move(response);
    waiter->notify();
  });
  pending->handles.push_back(std::move(handle));
  deferred.start = nullptr;
  const bool is_valid = co_await await_wakeup(pending, deferred);
  if (pending->gone) co_return std::nullopt;
  std::optional<Response> response = std::move(pending->response);
  stop_waiting();
  if (!is_valid) {
    if (!response && deferred.audit) deferred.audit(401, "");
    co_return unauthorized(
        problem(401, "unauthorized", "token no longer valid (expired or revoked while waiting)"));
  }
  if (!response) response = std::move(deferred.timeout_response);
  co_return response;
}

}  // namespace tangram::http
