// Pool: connections to the current replica that are idle and may carry another request. One rule:
// one is kept for a second at most, well below the time after which servers close idle
// connections, and none survives a change of route.
//
// A request that may not be sent twice needs more: a connection that is sure not to be closed the
// moment it is used. So the first connection to a replica that becomes idle is not used again but
// watched for that second. A replica that leaves it open is known to keep idle ones for longer than
// any of them has to last here; one that closes it, or any other without having said so, is not
// trusted with such requests until the route changes.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "endpoint/wire.hpp"

namespace tangram::endpoint {

class Pool final : public Wire::Owner {
 public:
  static constexpr std::chrono::milliseconds kLongestIdle{1'000};
  // For what may not be sent twice: as much again lies between that and what the replica kept.
  static constexpr std::chrono::milliseconds kLongestSure{500};
  static constexpr std::size_t kMost = 1'024;

  // At most so many, where descriptors are scarce.
  void limit(std::size_t most) { most_ = std::min(most, kMost); }
  // Nothing may be left in it or under way to it.
  void put(std::shared_ptr<Wire> wire);
  // The one used last; null: there is none.
  [[nodiscard]] std::shared_ptr<Wire> take(Wire::Owner& owner);
  // The same, if it is sure.
  [[nodiscard]] std::shared_ptr<Wire> take_sure(Wire::Owner& owner);
  // Whether connections are of use here although only requests that may not be sent twice come.
  [[nodiscard]] bool wants_any() const { return habit_ == Habit::kKeeps || is_trial_due(); }
  // The replica closed one that was taken, before it answered.
  void distrust() { habit_ = Habit::kCloses; }

  void check(std::chrono::steady_clock::time_point now);
  void clear();
  [[nodiscard]] bool empty() const { return idle_.empty() && !trial_.wire; }

 private:
  // What is known of the replica and its idle connections.
  enum class Habit : std::uint8_t { kUnknown, kKeeps, kCloses };
  struct Idle {
    std::shared_ptr<Wire> wire;
    std::chrono::steady_clock::time_point since;
  };

  void on_bytes(Wire& wire) override;  // its end, or something nobody asked for
  void on_room(Wire& /*wire*/) override {}
  void on_connected(Wire& /*wire*/, bool /*connected*/) override {}
  [[nodiscard]] bool is_trial_due() const { return habit_ == Habit::kUnknown && !trial_.wire; }
  void check_trial(std::chrono::steady_clock::time_point now);

  std::vector<Idle> idle_;  // the one idle for longest first
  Idle trial_;              // the one that is watched
  Habit habit_ = Habit::kUnknown;
  std::size_t most_ = kMost;
};

// Kept beside those that clients use, each of which may have one to the replica of its own.
[[nodiscard]] constexpr std::size_t most_pooled(std::size_t most_connections) {
  return std::min(Pool::kMost, most_connections / 4 + 1);
}

}  // namespace tangram::endpoint
