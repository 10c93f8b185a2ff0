// RateLimiter: a token bucket per client, for new connections and for submissions. An attempt that
// is refused takes no token, so a client that backs off recovers as fast as the rate allows. Full
// buckets are dropped, which bounds the memory. Not thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>

namespace tangram {

class RateLimiter {
 public:
  using Time = std::chrono::steady_clock::time_point;
  // `burst`: tokens in a full bucket. `per_second`: refill rate.
  RateLimiter(double burst, double per_second) : burst_(burst), per_second_(per_second) {}

  // Takes one token from the bucket of `client_key` (a uid, an address). False: the bucket is
  // empty.
  [[nodiscard]] bool try_acquire(const std::string& client_key, Time now);
  // What try_acquire() would return; takes nothing.
  [[nodiscard]] bool can_acquire(const std::string& client_key, Time now) const;
  // Keeps the buckets: tokens that were taken stay taken until they are refilled at the new rate.
  void set_rate(double burst, double per_second);

 private:
  struct TokenBucket {
    double taken = 0;  // tokens taken and not refilled at `updated`
    Time updated{};
  };
  [[nodiscard]] double taken(const TokenBucket& bucket, Time now) const;
  void drop_idle_buckets(Time now);

  double burst_;
  double per_second_;
  std::map<std::string, TokenBucket> buckets_;
};

}  // namespace tangram
