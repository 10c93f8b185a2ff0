// See connection_quota.hpp.
#include "http/server/connection_quota.hpp"

#include "base/check.hpp"
#include "base/text.hpp"

namespace tangram::http {

std::string ConnectionQuota::check(const std::string& client_key, std::size_t reserved) const {
  if (used_ >= max_ + reserved) {
    return cat("connection limit reached (", max_, " in use): try again in a moment");
  }
  const auto found = used_by_.find(client_key);
  if (found == used_by_.end() || found->second < max_each_) return "";
  return cat("connection limit reached (you have ", found->second, " open): close some first");
}

void ConnectionQuota::acquire(const std::string& client_key) {
  ++used_;
  ++used_by_[client_key];
}

void ConnectionQuota::release(const std::string& client_key) {
  const auto found = used_by_.find(client_key);
  CHECK(used_ > 0 && found != used_by_.end());
  --used_;
  if (--found->second == 0) used_by_.erase(found);
}

}  // namespace tangram::http
