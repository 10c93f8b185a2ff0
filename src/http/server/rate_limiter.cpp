// See rate_limiter.hpp.
#include "http/server/rate_limiter.hpp"

#include <algorithm>

namespace tangram::http {
namespace {

constexpr std::size_t kMaxBuckets = 10'000;

}  // namespace

bool RateLimiter::try_acquire(const std::string& client_key, Time now) {
  if (buckets_.size() >= kMaxBuckets) drop_idle_buckets(now);
  TokenBucket& bucket = buckets_[client_key];
  const double refilled = std::chrono::duration<double>(now - bucket.updated).count() * per_second_;
  bucket.taken = std::max(0.0, bucket.taken - refilled);
  bucket.updated = now;
  if (bucket.taken + 1 > burst_) return false;
  bucket.taken += 1;
  return true;
}

// Drops the full buckets; all buckets if none is full, to bound the memory.
void RateLimiter::drop_idle_buckets(Time now) {
  std::erase_if(buckets_, [&](const auto& each) {
    const TokenBucket& bucket = each.second;
    return bucket.taken <=
           std::chrono::duration<double>(now - bucket.updated).count() * per_second_;
  });
  if (buckets_.size() >= kMaxBuckets) buckets_.clear();
}

}  // namespace tangram::http
