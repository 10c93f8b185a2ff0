// See places.hpp.
#include "http/places.hpp"

#include "base/check.hpp"
#include "base/text.hpp"

namespace tangram::http {

std::string Places::refusal(const std::string& guest, std::size_t reserved) const {
  if (taken_ >= most_ + reserved) {
    return cat("tangramd has its ", most_, " connections in use; try again in a moment.");
  }
  const auto share = shares_.find(guest);
  if (share == shares_.end() || share->second < most_each_) return "";
  return cat("you have ", share->second,
             " connections open, which is as many as a user may have; close some first.");
}

void Places::take(const std::string& guest) {
  ++taken_;
  ++shares_[guest];
}

void Places::give_back(const std::string& guest) {
  const auto share = shares_.find(guest);
  CHECK(taken_ > 0 && share != shares_.end());
  --taken_;
  if (--share->second == 0) shares_.erase(share);
}

}  // namespace tangram::http
