// Waiter: a client that waits for a lease. Owned by the HTTP request; destroyed when the client
// disconnects. Private to Leases.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "daemon/leases/leases.hpp"

namespace tangram::daemon {

struct Leases::Waiter {
  Waiter(Leases& owner, Caller client, AcquireReply on_reply)
      : leases(owner), alive(owner.alive_), caller(std::move(client)), reply(std::move(on_reply)) {}
  ~Waiter() {
    if (*alive && lease && !is_answered) leases.on_waiter_gone(*lease);
  }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;
  Waiter(Waiter&&) = delete;
  Waiter& operator=(Waiter&&) = delete;

  // Replies to the client; does nothing if that was done before.
  void respond(Answer<api::LeaseView> what) {
    if (std::exchange(is_answered, true)) return;
    if (what) {
      reply(http::ApiHandlers::Acquired{.lease = *std::move(what), .existing = is_repeat});
    } else {
      reply(std::unexpected(std::move(what.error())));
    }
  }

  Leases& leases;
  std::shared_ptr<bool> alive;
  Caller caller;
  AcquireReply reply;
  std::optional<std::uint64_t> lease;
  bool is_repeat = false;     // the lease existed before this request
  Micros wait_deadline{0};    // for a placement
  Micros create_deadline{0};  // for the instance, if the lease has been placed
  bool is_answered = false;
};

}  // namespace tangram::daemon
