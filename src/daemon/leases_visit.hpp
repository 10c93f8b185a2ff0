// One who waits for a lease. Private to Leases.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "daemon/leases.hpp"

namespace tangram::daemon {

struct Leases::Visit {
  Visit(Leases& of, Caller who, Acquired how)
      : leases(of), alive(of.alive_), caller(std::move(who)), reply(std::move(how)) {}
  ~Visit() {
    if (*alive && lease && !answered) leases.left(*lease);
  }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;
  Visit(Visit&&) = delete;
  Visit& operator=(Visit&&) = delete;

  void tell(Answer<api::LeaseView> what) {
    if (std::exchange(answered, true)) return;
    if (what) {
      reply(http::Doors::Acquired{.lease = *std::move(what), .again = again});
    } else {
      reply(std::unexpected(std::move(what.error())));
    }
  }

  Leases& leases;
  std::shared_ptr<bool> alive;
  Caller caller;
  Acquired reply;
  std::optional<std::uint64_t> lease;
  bool again = false;    // the lease was open when he came
  Micros until{0};       // he waits so long for room
  Micros until_made{0};  // and so long in all, if there is room and the instance is being made
  bool answered = false;
};

}  // namespace tangram::daemon
