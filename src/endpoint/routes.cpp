// See routes.hpp.
#include "endpoint/routes.hpp"

#include <utility>

namespace tangram::endpoint {

Routes::Routes(boost::asio::io_context& loop, Callbacks callbacks)
    : loop_(loop), callbacks_(std::move(callbacks)) {}

bool Routes::set(const Route& route, std::chrono::milliseconds drain) {
  if (current_ == route) return false;
  const std::optional<Route> left = std::exchange(current_, route);
  if (left && left->run != route.run) leaving_ = left->run;
  if (leaving_ == route.run) leaving_.reset();
  auto& traffic = runs_[route.run];
  if (!traffic) traffic = std::make_unique<Traffic>(loop_, route.run);
  if (traffic->drained_to) {  // it was left, and is wanted again
    traffic->drained_to.reset();
    traffic->finished = traffic->cut = traffic->broken = 0;
    traffic->deadline.cancel();
  }
  callbacks_.changed();
  drain_others(route.run, drain);
  tell_travellers();
  return true;
}

void Routes::hold() {
  if (!current_) return;
  leaving_ = std::exchange(current_, std::nullopt)->run;
  callbacks_.changed();
}

void Routes::report_again() {
  if (last_ && !leaving_) callbacks_.drained(*last_);
}

void Routes::drain_others(std::uint32_t to, std::chrono::milliseconds drain) {
  std::vector<std::uint32_t> others;
  for (const auto& [run, traffic] : runs_) {
    if (run != to) others.push_back(run);
  }
  for (const std::uint32_t run : others) begin_drain(run, *runs_.at(run), to, drain);
  for (const std::uint32_t run : others) report_if_over(run);
}

// A run that is drained already has its end; another change may only bring it nearer.
void Routes::begin_drain(std::uint32_t run, Traffic& traffic, std::uint32_t to,
                         std::chrono::milliseconds drain) {
  const auto until = std::chrono::steady_clock::now() + drain;
  if (traffic.drained_to && traffic.deadline.expiry() <= until) return;
  if (!traffic.drained_to) traffic.drained_to = to;
  traffic.deadline.expires_at(until);
  traffic.deadline.async_wait([this, run](boost::system::error_code status) {
    if (!status) cut_all(run);
  });
}

void Routes::cut_all(std::uint32_t run) {
  const auto found = runs_.find(run);
  if (found == runs_.end() || !found->second->drained_to) return;
  const std::vector<Traveller*> left(found->second->travellers.begin(),
                                     found->second->travellers.end());
  for (Traveller* traveller : left) traveller->cut();
}

void Routes::report_if_over(std::uint32_t run) {
  const auto found = runs_.find(run);
  if (found == runs_.end()) return;
  const Traffic& traffic = *found->second;
  if (!traffic.drained_to || !traffic.travellers.empty()) return;
  const Drained drained{run, *traffic.drained_to, traffic.finished, traffic.cut, traffic.broken};
  runs_.erase(found);
  if (leaving_ == run || !leaving_) {
    last_ = drained;
    leaving_.reset();
  }
  callbacks_.drained(drained);
}

// Those who have reached their replica already take no notice.
void Routes::tell_travellers() {
  std::vector<Traveller*> all(waiting_.begin(), waiting_.end());
  for (const auto& [run, traffic] : runs_) {
    if (!current_ || run != current_->run) {
      all.insert(all.end(), traffic->travellers.begin(), traffic->travellers.end());
    }
  }
  for (Traveller* traveller : all) traveller->on_route();
}

std::optional<Route> Routes::enter(Traveller& traveller) {
  (void)leave(traveller, Ending::kMoved);
  if (!current_) {
    wait(traveller);
    return std::nullopt;
  }
  Traffic& traffic = *runs_.at(current_->run);
  traveller.where_ = Traveller::Where::kWithRun;
  traveller.traffic_ = &traffic;
  traveller.place_ = traffic.travellers.insert(traffic.travellers.end(), &traveller);
  ++active_;
  return current_;
}

void Routes::wait(Traveller& traveller) {
  (void)leave(traveller, Ending::kMoved);
  traveller.where_ = Traveller::Where::kWaiting;
  traveller.place_ = waiting_.insert(waiting_.end(), &traveller);
}

bool Routes::leave(Traveller& traveller, Ending ending) {
  const auto where = std::exchange(traveller.where_, Traveller::Where::kNowhere);
  if (where == Traveller::Where::kWaiting) waiting_.erase(traveller.place_);
  if (where != Traveller::Where::kWithRun) return false;
  Traffic& traffic = *std::exchange(traveller.traffic_, nullptr);
  traffic.travellers.erase(traveller.place_);
  --active_;
  if (!traffic.drained_to) return true;
  if (ending == Ending::kFinished) {
    ++traffic.finished;
    ++drained_;
  }
  if (ending == Ending::kCut) ++traffic.cut;
  if (ending == Ending::kBroken) ++traffic.broken;
  if (traffic.travellers.empty()) report_if_over(traffic.run);
  return true;
}

}  // namespace tangram::endpoint
