// See routes.hpp.
#include "endpoint/relay/routes.hpp"

#include <utility>

namespace tangram::endpoint {

Routes::Routes(boost::asio::io_context& loop, Callbacks callbacks)
    : loop_(loop), callbacks_(std::move(callbacks)) {}

bool Routes::set(const Route& route, std::chrono::milliseconds drain) {
  if (current_ == route) return false;
  const std::optional<Route> left = std::exchange(current_, route);
  if (left && left->run != route.run) last_left_run_ = left->run;
  if (last_left_run_ == route.run) last_left_run_.reset();
  auto& traffic = runs_[route.run];
  if (!traffic) traffic = std::make_unique<RunTraffic>(loop_, route.run);
  if (traffic->drained_to) {  // back to a run that is draining: cancel the drain
    traffic->drained_to.reset();
    traffic->finished = traffic->cut = traffic->broken = 0;
    traffic->deadline.cancel();
  }
  callbacks_.on_route_changed();
  drain_others(route.run, drain);
  notify_exchanges();
  return true;
}

void Routes::hold() {
  if (!current_) return;
  last_left_run_ = std::exchange(current_, std::nullopt)->run;
  callbacks_.on_route_changed();
}

void Routes::repeat_last_report() {
  if (last_report_ && !last_left_run_) callbacks_.on_drained(*last_report_);
}

void Routes::drain_others(std::uint32_t to, std::chrono::milliseconds drain) {
  std::vector<std::uint32_t> others;
  for (const auto& [run, traffic] : runs_) {
    if (run != to) others.push_back(run);
  }
  for (const std::uint32_t run : others) begin_drain(run, *runs_.at(run), to, drain);
  for (const std::uint32_t run : others) report_if_drained(run);
}

// A run that is draining already has a deadline; another change can only make it earlier.
void Routes::begin_drain(std::uint32_t run, RunTraffic& traffic, std::uint32_t to,
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
  const std::vector<Exchange*> left(found->second->exchanges.begin(),
                                    found->second->exchanges.end());
  for (Exchange* exchange : left) exchange->cut();
}

void Routes::report_if_drained(std::uint32_t run) {
  const auto found = runs_.find(run);
  if (found == runs_.end()) return;
  const RunTraffic& traffic = *found->second;
  if (!traffic.drained_to || !traffic.exchanges.empty()) return;
  const Drained drained{run, *traffic.drained_to, traffic.finished, traffic.cut, traffic.broken};
  runs_.erase(found);
  if (last_left_run_ == run || !last_left_run_) {
    last_report_ = drained;
    last_left_run_.reset();
  }
  callbacks_.on_drained(drained);
}

void Routes::notify_exchanges() {
  std::vector<Exchange*> all(waiting_.begin(), waiting_.end());
  for (const auto& [run, traffic] : runs_) {
    if (!current_ || run != current_->run) {
      all.insert(all.end(), traffic->exchanges.begin(), traffic->exchanges.end());
    }
  }
  for (Exchange* exchange : all) exchange->on_route();
}

std::optional<Route> Routes::attach(Exchange& exchange) {
  (void)detach(exchange, Outcome::kNotStarted);
  if (!current_) {
    wait(exchange);
    return std::nullopt;
  }
  RunTraffic& traffic = *runs_.at(current_->run);
  exchange.attachment_ = Exchange::Attachment::kRun;
  exchange.traffic_ = &traffic;
  exchange.position_ = traffic.exchanges.insert(traffic.exchanges.end(), &exchange);
  ++active_;
  return current_;
}

void Routes::wait(Exchange& exchange) {
  (void)detach(exchange, Outcome::kNotStarted);
  exchange.attachment_ = Exchange::Attachment::kWaiting;
  exchange.position_ = waiting_.insert(waiting_.end(), &exchange);
}

bool Routes::detach(Exchange& exchange, Outcome outcome) {
  const auto attachment = std::exchange(exchange.attachment_, Exchange::Attachment::kNone);
  if (attachment == Exchange::Attachment::kWaiting) waiting_.erase(exchange.position_);
  if (attachment != Exchange::Attachment::kRun) return false;
  RunTraffic& traffic = *std::exchange(exchange.traffic_, nullptr);
  traffic.exchanges.erase(exchange.position_);
  --active_;
  if (!traffic.drained_to) return true;
  if (outcome == Outcome::kFinished) {
    ++traffic.finished;
    ++drained_;
  }
  if (outcome == Outcome::kCut) ++traffic.cut;
  if (outcome == Outcome::kBroken) ++traffic.broken;
  if (traffic.exchanges.empty()) report_if_drained(traffic.run);
  return true;
}

}  // namespace tangram::endpoint
