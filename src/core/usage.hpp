// Usage: how much of the node each user has used lately, for fair share: memory slices times
// milliseconds, decayed by a half-life. In integers, and a function of the slices that were held
// and of the time alone: when it was asked before does not matter.
#pragma once

#include <cstdint>
#include <vector>

#include "base/instant.hpp"

namespace tangram::core {

struct UserUsage {
  std::uint32_t user = 0;
  std::uint64_t used = 0;    // up to `since`
  std::uint32_t slices = 0;  // held since then
  Instant since{};

  friend bool operator==(const UserUsage&, const UserUsage&) = default;
};

class Usage {
 public:
  // The user begins or ends to hold this many slices.
  void add(std::uint32_t user, std::uint32_t slices, Instant now, Duration half_life);
  void remove(std::uint32_t user, std::uint32_t slices, Instant now, Duration half_life);
  // `when`: not before the latest change. A half-life of 0: usage is never forgotten.
  [[nodiscard]] std::uint64_t at(std::uint32_t user, Instant when, Duration half_life) const;
  // The half-life changes now.
  void settle(Instant now, Duration half_life);
  void clear() { users_.clear(); }

  [[nodiscard]] const std::vector<UserUsage>& users() const { return users_; }  // by user
  void restore(const std::vector<UserUsage>& users) { users_ = users; }

 private:
  UserUsage& settled(std::uint32_t user, Instant now, Duration half_life);

  std::vector<UserUsage> users_;
};

}  // namespace tangram::core
