// See bodies.hpp.
#include "http/bodies.hpp"

namespace tangram::http {

std::shared_ptr<void> Bodies::take(const std::string& guest, std::size_t bytes) {
  const auto known = shares_.find(guest);
  const std::size_t his = known == shares_.end() ? 0 : known->second;
  if (taken_ + bytes > most_ || his + bytes > most_each_) return nullptr;
  taken_ += bytes;
  shares_[guest] += bytes;
  return {this, [this, guest, bytes](void*) {
            taken_ -= bytes;
            const auto share = shares_.find(guest);
            if ((share->second -= bytes) == 0) shares_.erase(share);
          }};
}

}  // namespace tangram::http
