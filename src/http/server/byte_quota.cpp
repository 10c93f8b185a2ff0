// See byte_quota.hpp.
#include "http/server/byte_quota.hpp"

namespace tangram::http {

std::shared_ptr<void> ByteQuota::try_acquire(const std::string& client_key, std::size_t bytes) {
  const auto found = used_by_.find(client_key);
  const std::size_t used = found == used_by_.end() ? 0 : found->second;
  if (used_ + bytes > max_ || used + bytes > max_each_) return nullptr;
  used_ += bytes;
  used_by_[client_key] += bytes;
  return {this, [this, client_key, bytes](void*) {
            used_ -= bytes;
            const auto share = used_by_.find(client_key);
            share->second -= bytes;
            if (share->second == 0) used_by_.erase(share);
          }};
}

}  // namespace tangram::http
