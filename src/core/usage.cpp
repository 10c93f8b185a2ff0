// See usage.hpp. Time is cut into sixteenths of the half-life, by the scheduler's clock; at the end
// of each, usage is multiplied by 2^(-1/16).
#include "core/usage.hpp"

#include <algorithm>
#include <chrono>

#include "base/check.hpp"

namespace tangram::core {
namespace {

constexpr int kParts = 16;
constexpr std::uint64_t kFactor = 62757;   // 2^(-1/16) * 2^16
constexpr std::int64_t kMostParts = 1024;  // before that, 2^-64 and less is left

std::uint64_t held(std::uint32_t slices, Duration time) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
  return std::uint64_t{slices} * static_cast<std::uint64_t>(ms);
}

std::uint64_t decayed(std::uint64_t used) {
  return (used >> 16) * kFactor + ((used & 0xFFFFU) * kFactor >> 16);
}

// Milliseconds are counted from the clock's origin, so that rounding does not depend on `since`.
Instant whole_ms(Instant when) {
  return Instant(std::chrono::floor<std::chrono::milliseconds>(when.time_since_epoch()));
}

std::uint64_t used_at(const UserUsage& of, Instant when, Duration half_life) {
  Instant since = whole_ms(of.since);
  when = whole_ms(when);
  if (half_life <= Duration::zero()) return of.used + held(of.slices, when - since);
  const Duration part =
      std::max<Duration>(std::chrono::milliseconds(1),
                         std::chrono::floor<std::chrono::milliseconds>(half_life / kParts));
  std::uint64_t used = of.used;
  const std::int64_t last = when.time_since_epoch() / part;
  std::int64_t at = since.time_since_epoch() / part;
  if (last - at > kMostParts) {
    at = last - kMostParts;
    since = Instant(at * part);
    used = 0;
  }
  for (; at < last; ++at) {
    const Instant end((at + 1) * part);
    used = decayed(used + held(of.slices, end - since));
    since = end;
  }
  return used + held(of.slices, when - since);
}

}  // namespace

UserUsage& Usage::settled(std::uint32_t user, Instant now, Duration half_life) {
  auto it = std::ranges::lower_bound(users_, user, {}, &UserUsage::user);
  if (it == users_.end() || it->user != user) it = users_.insert(it, {.user = user, .since = now});
  it->used = used_at(*it, now, half_life);
  it->since = now;
  return *it;
}

void Usage::add(std::uint32_t user, std::uint32_t slices, Instant now, Duration half_life) {
  settled(user, now, half_life).slices += slices;
}

void Usage::remove(std::uint32_t user, std::uint32_t slices, Instant now, Duration half_life) {
  UserUsage& of = settled(user, now, half_life);
  CHECK(of.slices >= slices);
  of.slices -= slices;
  if (of.slices == 0 && of.used == 0)
    std::erase_if(users_, [&](const UserUsage& u) { return u.user == user; });
}

std::uint64_t Usage::at(std::uint32_t user, Instant when, Duration half_life) const {
  const auto it = std::ranges::lower_bound(users_, user, {}, &UserUsage::user);
  return it == users_.end() || it->user != user ? 0 : used_at(*it, when, half_life);
}

void Usage::settle(Instant now, Duration half_life) {
  for (UserUsage& each : users_) {
    each.used = used_at(each, now, half_life);
    each.since = now;
  }
}

}  // namespace tangram::core
