// Pool: connections to the current replica that are idle and may carry another request. One rule:
// one is kept for a second at most, well below the time after which servers close idle
// connections, and none survives a change of route.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

#include "endpoint/wire.hpp"

namespace tangram::endpoint {

class Pool final : public Wire::Owner {
 public:
  static constexpr std::chrono::seconds kLongestIdle{1};
  static constexpr std::size_t kMost = 1'024;

  // At most so many, where descriptors are scarce.
  void limit(std::size_t most) { most_ = std::min(most, kMost); }
  // Nothing may be left in it or under way to it.
  void put(std::shared_ptr<Wire> wire);
  // The one used last; null: there is none.
  [[nodiscard]] std::shared_ptr<Wire> take(Wire::Owner& owner);

  void check(std::chrono::steady_clock::time_point now);
  void clear();
  [[nodiscard]] bool empty() const { return idle_.empty(); }

 private:
  void on_bytes(Wire& wire) override;  // its end, or something nobody asked for
  void on_room(Wire& /*wire*/) override {}
  void on_connected(Wire& /*wire*/, bool /*connected*/) override {}

  struct Idle {
    std::shared_ptr<Wire> wire;
    std::chrono::steady_clock::time_point since;
  };
  std::vector<Idle> idle_;  // the one idle for longest first
  std::size_t most_ = kMost;
};

// Kept beside those that clients use, each of which may have one to the replica of its own.
[[nodiscard]] constexpr std::size_t most_pooled(std::size_t most_connections) {
  return std::min(Pool::kMost, most_connections / 4 + 1);
}

}  // namespace tangram::endpoint
