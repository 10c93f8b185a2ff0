// See pace.hpp.
#include "http/pace.hpp"

#include <algorithm>

namespace tangram::http {
namespace {

constexpr std::size_t kMostBuckets = 10'000;

}  // namespace

bool Pace::take(const std::string& guest, Time now) {
  if (buckets_.size() >= kMostBuckets) forget(now);
  Bucket& bucket = buckets_[guest];
  const double gone = std::chrono::duration<double>(now - bucket.at).count() * per_second_;
  bucket.visits = std::max(0.0, bucket.visits - gone);
  bucket.at = now;
  if (bucket.visits + 1 > burst_) return false;
  bucket.visits += 1;
  return true;
}

// Those whose visits are forgotten by now; if there are none, all.
void Pace::forget(Time now) {
  std::erase_if(buckets_, [&](const auto& each) {
    const Bucket& bucket = each.second;
    return bucket.visits <= std::chrono::duration<double>(now - bucket.at).count() * per_second_;
  });
  if (buckets_.size() >= kMostBuckets) buckets_.clear();
}

}  // namespace tangram::http
