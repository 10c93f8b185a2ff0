// See turns.hpp.
#include "endpoint/turns.hpp"

#include <utility>
#include <vector>

#include "endpoint/dial.hpp"

namespace tangram::endpoint {
namespace {

constexpr std::chrono::milliseconds kLookEvery{25};
// A replica is on this machine: its kernel answers at once, or has dropped the attempt.
constexpr std::chrono::milliseconds kSilence{100};
// Not all at once: they would fill the backlog together, and be dropped together.
constexpr std::size_t kMostAnew = Turns::kMost / 4;

}  // namespace

bool Turns::take(Dial& dial) {
  using Where = Place::Where;
  if (dial.place_.where == Where::kTaken) {
    taken_.splice(taken_.end(), taken_, dial.place_.at);
    return true;
  }
  if (dial.place_.where == Where::kWaiting) return false;
  const bool is_free = waiting_.empty() && taken_.size() < kMost;
  put(dial, is_free ? Where::kTaken : Where::kWaiting);
  return is_free;
}

void Turns::put(Dial& dial, Place::Where where) {
  auto& list = where == Place::Where::kTaken ? taken_ : waiting_;
  dial.place_ = {where, list.insert(list.end(), &dial)};
  look();
}

void Turns::leave(Dial& dial) {
  const Place place = std::exchange(dial.place_, {});
  if (place.where == Place::Where::kWaiting) waiting_.erase(place.at);
  if (place.where != Place::Where::kTaken) return;
  taken_.erase(place.at);
  pass_on();
}

// Who gets a turn may leave at once, for there is no replica any more: then the next one has it.
void Turns::pass_on() {
  if (std::exchange(is_passing_on_, true)) return;
  while (taken_.size() < kMost && !waiting_.empty()) {
    Dial& next = *waiting_.front();
    waiting_.pop_front();
    put(next, Place::Where::kTaken);
    next.on_turn();
  }
  is_passing_on_ = false;
}

void Turns::look() {
  if (taken_.empty() || std::exchange(is_looking_, true)) return;
  look_.expires_after(kLookEvery);
  look_.async_wait([this](boost::system::error_code status) {
    is_looking_ = false;
    if (status) return;
    begin_anew(std::chrono::steady_clock::now());
    look();
  });
}

void Turns::begin_anew(std::chrono::steady_clock::time_point now) {
  std::vector<Dial*> silent;
  for (Dial* dial : taken_) {
    if (silent.size() == kMostAnew) break;
    if (dial->is_unanswered(now - kSilence)) silent.push_back(dial);
  }
  for (Dial* dial : silent) dial->begin_anew();
}

}  // namespace tangram::endpoint
