// See refusals.hpp.
#include "daemon/refusals.hpp"

#include <algorithm>

namespace tangram::daemon {
namespace {

constexpr std::size_t kMostNetworks = 100;
constexpr const char* kOthers = "others";  // when there are more
constexpr auto kEvery = std::chrono::minutes(1);

}  // namespace

void Refusals::count(const std::string& network, Time now) {
  const bool room = counts_.size() < kMostNetworks || counts_.contains(network);
  const auto [at, first] = counts_.try_emplace(room ? network : kOthers, Count{0, now});
  ++at->second.count;
  next_ = first ? now : std::min(next_, at->second.due);
}

std::vector<Refusals::Report> Refusals::take_due(Time now) {
  std::vector<Report> due;
  if (now < next_) return due;
  next_ = Time::max();
  for (auto at = counts_.begin(); at != counts_.end();) {
    Count& each = at->second;
    const bool quiet = each.count == 0 && each.due <= now;
    if (each.count > 0 && each.due <= now) {
      due.push_back({at->first, each.count});
      each = {0, now + kEvery};
    }
    if (!quiet) next_ = std::min(next_, each.due);
    at = quiet ? counts_.erase(at) : std::next(at);
  }
  return due;
}

std::vector<Refusals::Report> Refusals::take_all() {
  std::vector<Report> all;
  for (const auto& [network, each] : counts_) {
    if (each.count > 0) all.push_back({network, each.count});
  }
  counts_.clear();
  return all;
}

}  // namespace tangram::daemon
