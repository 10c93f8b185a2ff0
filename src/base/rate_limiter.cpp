// See rate_limiter.hpp.
#include "base/rate_limiter.hpp"

#include <algorithm>

namespace tangram {
namespace {

constexpr std::size_t kMaxBuckets = 10'000;

}  // namespace

bool RateLimiter::try_acquire(const std::string& client_key, Time now) {
  if (buckets_.size() >= kMaxBuckets) drop_idle_buckets(now);
  TokenBucket& bucket = buckets_[client_key];
  bucket = {.taken = taken(bucket, now), .updated = now};
  if (bucket.taken + 1 > burst_) return false;
  bucket.taken += 1;
  return true;
}

bool RateLimiter::can_acquire(const std::string& client_key, Time now) const {
  const auto bucket = buckets_.find(client_key);
  return (bucket == buckets_.end() ? 0 : taken(bucket->second, now)) + 1 <= burst_;
}

void RateLimiter::set_rate(double burst, double per_second) {
  burst_ = burst;
  per_second_ = per_second;
}

double RateLimiter::taken(const TokenBucket& bucket, Time now) const {
  const std::chrono::duration<double> passed = now - bucket.updated;
  return std::max(0.0, bucket.taken - passed.count() * per_second_);
}

// Drops the full buckets; all buckets if none is full, to bound the memory.
void RateLimiter::drop_idle_buckets(Time now) {
  std::erase_if(buckets_, [&](const auto& each) { return taken(each.second, now) <= 0; });
  if (buckets_.size() >= kMaxBuckets) buckets_.clear();
}

}  // namespace tangram
