// See relay.hpp. The lines are described in api/endpoint_spec.hpp.
#include "endpoint/relay.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <variant>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "base/text.hpp"

namespace tangram::endpoint {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;
using std::chrono::milliseconds;

constexpr milliseconds kLongestTick{250};
constexpr milliseconds kShortestTick{5};
constexpr std::chrono::minutes kNoteAgain{1};
constexpr std::chrono::seconds kLeastRest{1};

// One look at all sessions every now and then costs less than a timer for each of them, which every
// request would move. A time is kept within an eighth of the shortest one.
milliseconds tick_of(const api::EndpointSpec& spec) {
  const milliseconds idle = spec.idle.count() > 0 ? spec.idle : milliseconds::max();
  const milliseconds shortest =
      std::min({spec.wait, spec.connect, spec.header, spec.keep_alive, idle});
  return std::clamp(shortest / 8, kShortestTick, kLongestTick);
}

std::string drained_line(const Drained& drained) {
  return json::serialize(json::object{{"drained", drained.run},
                                      {"to", drained.to},
                                      {"finished", drained.finished},
                                      {"cut", drained.cut},
                                      {"broken", drained.broken}});
}

}  // namespace

Relay::Relay(const api::EndpointSpec& spec, Log& log, Parts parts)
    : spec_(spec),
      log_(log),
      port_(parts.address.port),
      house_{.loop = loop_,
             .spec = spec,
             .routes = Routes(loop_, {.drained = [this](const Drained& d) { on_drained(d); },
                                      .changed = [this] { house_.pool.clear(); }})},
      control_(loop_, std::move(parts.control), parts.master,
               {.greeting = [this] { return greeting(); },
                .line = [this](ClientId id, std::string_view line) { on_line(id, line); }}),
      listener_(loop_, std::move(parts.address.socket),
                {.has_room = [this] { return has_room(); },
                 .accepted = [this](Arrival arrival) { return accept(std::move(arrival)); },
                 .exhausted = [this](int code) { note_exhausted(code); }}),
      signals_(loop_, parts.signals.release()),
      tick_(loop_),
      end_timer_(loop_) {
  house_.over = [this](Session& session) { forget(session); };
  house_.pool.limit(most_pooled(spec.most_connections));
  watch_signals();
}

void Relay::run() { loop_.run(); }

std::string Relay::greeting() const {
  const auto& route = house_.routes.current();
  return json::serialize(
      json::object{{"version", api::kEndpointVersion},
                   {"endpoint", ::getpid()},
                   {"host", spec_.host},
                   {"port", port_},
                   {"run", route ? json::value(route->run) : json::value(nullptr)}});
}

void Relay::on_line(ClientId client, std::string_view line) {
  const Result<Order> order = parse_order(line);
  if (!order) {
    control_.send(client, json::serialize(json::object{{"error", order.error().message}}));
    return;
  }
  std::visit([&](const auto& what) { carry_out(client, order->id, what); }, order->what);
}

void Relay::carry_out(ClientId client, std::int64_t id, const RouteOrder& order) {
  // First the answer: what is drained at once is told after it.
  control_.send(client, json::serialize(json::object{{"done", id}}));
  if (house_.routes.current() == order.route) return house_.routes.report_again();
  log_.note(cat("route: run ", order.route.run, " on port ", order.route.port, ", ",
                house_.routes.active(), " in flight may last ", order.drain.count(), " ms"));
  house_.routes.set(order.route, order.drain);
}

void Relay::carry_out(ClientId client, std::int64_t id, const HoldOrder& /*order*/) {
  control_.send(client, json::serialize(json::object{{"done", id}}));
  if (house_.routes.current()) log_.note("hold: new traffic waits for a replica");
  house_.routes.hold();
}

void Relay::carry_out(ClientId client, std::int64_t id, const CountsOrder& /*order*/) {
  api::EndpointCounts counts = house_.counts;
  counts.open = static_cast<std::uint32_t>(sessions_.size());
  counts.active = house_.routes.active();
  counts.drained = house_.routes.drained();
  control_.send(client,
                json::serialize(json::object{{"done", id}, {"counts", api::to_json(counts)}}));
}

void Relay::carry_out(ClientId client, std::int64_t id, const EndOrder& order) {
  control_.send(client, json::serialize(json::object{{"done", id}}));
  end(order.drain);
}

void Relay::on_drained(const Drained& drained) {
  log_.note(cat("drained: run ", drained.run, ", ", drained.finished, " finished, ", drained.cut,
                " cut, ", drained.broken, " broken off"));
  control_.broadcast(drained_line(drained));
}

// Clients that keep connections they do not use must not keep everybody else out: the one that has
// rested for longest goes. It has been idle for a while, so that hardly any is just asking.
bool Relay::has_room() {
  if (sessions_.size() < spec_.most_connections) return true;
  const Moment now = std::chrono::steady_clock::now();
  if (house_.resting.empty() || now - house_.resting.front()->resting_since_ < kLeastRest) {
    note_rarely(full_noted_, cat("all ", sessions_.size(),
                                 " connections (most_connections) are in use; more wait"));
    return false;
  }
  const auto longest = house_.resting.front()->shared_from_this();
  ++house_.counts.displaced;
  note_rarely(displaced_noted_, cat("all ", sessions_.size(),
                                    " connections (most_connections) are taken; idle ones are "
                                    "ended for others"));
  longest->drop();
  return true;
}

bool Relay::accept(Arrival arrival) {
  const auto client = std::make_shared<Wire>(loop_, nullptr);
  if (const int code = client->adopt(arrival.descriptor, arrival.family); code != 0) {
    note_exhausted(code);
    return false;
  }
  ++house_.counts.connections;
  const auto session = spec_.mode == api::EndpointMode::kHttp
                           ? make_http_session(house_, client, std::move(arrival.address))
                           : make_tcp_session(house_, client);
  session->place_ = sessions_.insert(sessions_.end(), session);
  session->start();
  tick();
  return true;
}

void Relay::forget(Session& session) {
  session.rise(house_);
  sessions_.erase(session.place_);
  listener_.wake();
  if (house_.is_ending && sessions_.empty()) loop_.stop();
}

// Only while there is something to look at: an endpoint without clients sleeps.
void Relay::tick() {
  if (is_ticking_ || (sessions_.empty() && house_.pool.empty())) return;
  is_ticking_ = true;
  tick_.expires_after(tick_of(spec_));
  tick_.async_wait([this](boost::system::error_code status) {
    is_ticking_ = false;
    if (status) return;
    const Moment now = std::chrono::steady_clock::now();
    house_.pool.check(now);
    for (auto at = sessions_.begin(); at != sessions_.end();) {
      const std::shared_ptr<Session> session = *at++;
      session->check(now);
    }
    listener_.wake();  // who rests may have rested for long enough
    tick();
  });
}

void Relay::watch_signals() {
  signals_.async_wait(asio::posix::stream_descriptor::wait_read,
                      [this](boost::system::error_code status) {
                        if (!status) end(milliseconds(0));
                      });
}

void Relay::end(milliseconds drain) {
  const Moment until = std::chrono::steady_clock::now() + drain;
  if (house_.is_ending && end_timer_.expiry() <= until) return;
  const bool is_first = !std::exchange(house_.is_ending, true);
  if (is_first) {
    log_.note(
        cat("ending: ", house_.routes.active(), " in flight may last ", drain.count(), " ms"));
    listener_.close();
    house_.pool.clear();
  }
  end_timer_.expires_at(until);
  end_timer_.async_wait([this](boost::system::error_code status) {
    if (!status) drop_all();
  });
  const std::vector<std::shared_ptr<Session>> all(sessions_.begin(), sessions_.end());
  for (const auto& session : all) session->wind_down();
  if (sessions_.empty()) loop_.stop();
}

void Relay::drop_all() {
  const std::vector<std::shared_ptr<Session>> all(sessions_.begin(), sessions_.end());
  for (const auto& session : all) session->drop();
  loop_.stop();
}

void Relay::note_exhausted(int code) {
  const bool is_epoll = code == ENOSPC;
  note_rarely(exhausted_noted_,
              cat("cannot accept more connections than ", sessions_.size(),
                  " now: ", std::generic_category().message(code), ". The limit of ",
                  is_epoll ? "fs.epoll.max_user_watches" : "open files (nofile)", " is too low."));
}

void Relay::note_rarely(std::optional<Moment>& noted, const std::string& text) {
  const Moment now = std::chrono::steady_clock::now();
  if (noted && now - *noted < kNoteAgain) return;
  noted = now;
  log_.note(text);
}

}  // namespace tangram::endpoint
