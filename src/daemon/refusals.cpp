// See refusals.hpp.
#include "daemon/refusals.hpp"

#include <algorithm>

namespace tangram::daemon {
namespace {

constexpr std::size_t kMost = 100;
constexpr const char* kOthers = "others";  // when there are more
constexpr auto kEvery = std::chrono::minutes(1);

}  // namespace

bool Refusals::count(const Who& who, Time now) {
  const bool room = counts_.size() < kMost || counts_.contains(who);
  const Count fresh{.count = 0, .due = in_full_ == 0 ? now : now + kEvery};
  Count& mine = counts_.try_emplace(room ? who : Who{.network = kOthers}, fresh).first->second;
  next_ = std::min(next_, mine.due);
  if (mine.written < in_full_) {
    ++mine.written;
    return true;
  }
  ++mine.count;
  return false;
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
      each = {.count = 0, .due = now + kEvery};
    }
    if (!quiet) next_ = std::min(next_, each.due);
    at = quiet ? counts_.erase(at) : std::next(at);
  }
  return due;
}

std::vector<Refusals::Report> Refusals::take_all() {
  std::vector<Report> all;
  for (const auto& [who, each] : counts_) {
    if (each.count > 0) all.push_back({who, each.count});
  }
  counts_.clear();
  return all;
}

}  // namespace tangram::daemon
