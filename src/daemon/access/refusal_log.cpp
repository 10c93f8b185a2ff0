// See refusal_log.hpp.
#include "daemon/access/refusal_log.hpp"

#include <algorithm>

namespace tangram::daemon {
namespace {

constexpr std::size_t kMaxSources = 100;
constexpr const char* kOthers = "others";  // beyond kMaxSources
constexpr auto kInterval = std::chrono::minutes(1);

}  // namespace

bool RefusalLog::add(const Source& source, Time now) {
  const bool fits = counts_.size() < kMaxSources || counts_.contains(source);
  const Count fresh{.count = 0, .due = full_per_minute_ == 0 ? now : now + kInterval};
  Count& entry =
      counts_.try_emplace(fits ? source : Source{.network = kOthers}, fresh).first->second;
  next_ = std::min(next_, entry.due);
  if (entry.written < full_per_minute_) {
    ++entry.written;
    return true;
  }
  ++entry.count;
  return false;
}

std::vector<RefusalLog::Summary> RefusalLog::take_due(Time now) {
  std::vector<Summary> due;
  if (now < next_) return due;
  next_ = Time::max();
  for (auto at = counts_.begin(); at != counts_.end();) {
    Count& each = at->second;
    const bool quiet = each.count == 0 && each.due <= now;
    if (each.count > 0 && each.due <= now) {
      due.push_back({at->first, each.count});
      each = {.count = 0, .due = now + kInterval};
    }
    if (!quiet) next_ = std::min(next_, each.due);
    at = quiet ? counts_.erase(at) : std::next(at);
  }
  return due;
}

std::vector<RefusalLog::Summary> RefusalLog::take_all() {
  std::vector<Summary> all;
  for (const auto& [source, each] : counts_) {
    if (each.count > 0) all.push_back({source, each.count});
  }
  counts_.clear();
  return all;
}

}  // namespace tangram::daemon
