// RateLimiter: a token bucket per client. Rejected requests take no token, so a client that backs
// off recovers as fast as the configured rate allows. Buckets of idle clients are dropped.
// Not thread-safe: used on the event loop only.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>

namespace tangram::http {

class RateLimiter {
 public:
  using Time = std::chrono::steady_clock::time_point;
  // `burst`: tokens in a full bucket. `per_second`: refill rate.
  RateLimiter(double burst, double per_second) : burst_(burst), per_second_(per_second) {}

  // Takes one token from the bucket of `client_key` (uid or address). False: the bucket is empty.
  [[nodiscard]] bool try_acquire(const std::string& client_key,
                                 Time now = std::chrono::steady_clock::now());

 private:
  struct TokenBucket {
    double taken = 0;  // tokens taken and not refilled at `updated`
    Time updated{};
  };
  void drop_idle_buckets(Time now);

  double burst_;
  double per_second_;
  std::map<std::string, TokenBucket> buckets_;
};

}  // namespace tangram::http
