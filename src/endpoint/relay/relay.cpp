// See relay.hpp. The lines are described in api/endpoint_spec.hpp.
#include "endpoint/relay/relay.hpp"

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
constexpr std::chrono::minutes kLogInterval{1};
constexpr std::chrono::seconds kMinIdleTime{1};

// Checking all sessions periodically costs less than one timer per session, which every request
// would have to move. Timeouts are thus late by at most an eighth of the shortest one.
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
      context_{.loop = loop_,
               .spec = spec,
               .service_uid = parts.service_uid,
               .routes = Routes(
                   loop_, {.on_drained = [this](const Drained& d) { on_drained(d); },
                           .on_route_changed = [this] { context_.keep_alive_pool.clear(); }})},
      control_(loop_, std::move(parts.control), parts.owner_uid,
               {.greeting = [this] { return greeting(); },
                .on_line = [this](ClientId id, std::string_view line) { on_line(id, line); }}),
      listener_(
          loop_, std::move(parts.address.socket),
          {.ensure_capacity = [this] { return ensure_capacity(); },
           .on_accepted = [this](AcceptedConnection arrival) { return accept(std::move(arrival)); },
           .on_exhausted = [this](int code) { log_exhausted(code); }}),
      signals_(loop_, parts.signals.release()),
      tick_(loop_),
      shutdown_timer_(loop_) {
  context_.on_session_closed = [this](Session& session) { on_session_closed(session); };
  context_.on_foreign_replica = [this](const std::string& why) {
    log_rarely(foreign_logged_, cat(why, "; nothing is sent there"));
  };
  context_.keep_alive_pool.set_capacity(max_pooled_connections(spec.most_connections));
  watch_signals();
}

void Relay::run() { loop_.run(); }

std::string Relay::greeting() const {
  const auto& route = context_.routes.current();
  return json::serialize(
      json::object{{"version", api::kEndpointVersion},
                   {"endpoint", ::getpid()},
                   {"host", spec_.host},
                   {"port", port_},
                   {"run", route ? json::value(route->run) : json::value(nullptr)}});
}

void Relay::on_line(ClientId client, std::string_view line) {
  const Result<ControlCommand> command = parse_control_command(line);
  if (!command) {
    control_.send(client, json::serialize(json::object{{"error", command.error().message}}));
    return;
  }
  std::visit([&](const auto& what) { execute(client, command->id, what); }, command->what);
}

void Relay::execute(ClientId client, std::int64_t id, const RouteCommand& command) {
  // Answer first: a run that is drained at once is reported after it.
  control_.send(client, json::serialize(json::object{{"done", id}}));
  if (context_.routes.current() == command.route) {
    context_.routes.repeat_last_report();
    return;
  }
  log_.write(cat("route: run ", command.route.run, " on port ", command.route.port, ", ",
                 context_.routes.active(), " in flight, drain timeout ", command.drain.count(),
                 " ms"));
  context_.routes.set(command.route, command.drain);
}

void Relay::execute(ClientId client, std::int64_t id, const HoldCommand& /*command*/) {
  control_.send(client, json::serialize(json::object{{"done", id}}));
  if (context_.routes.current()) log_.write("hold: new traffic waits for a replica");
  context_.routes.hold();
}

void Relay::execute(ClientId client, std::int64_t id, const CountsCommand& /*command*/) {
  api::EndpointCounts counts = context_.counts;
  counts.open = static_cast<std::uint32_t>(sessions_.size());
  counts.active = context_.routes.active();
  counts.drained = context_.routes.drained();
  control_.send(client,
                json::serialize(json::object{{"done", id}, {"counts", api::to_json(counts)}}));
}

void Relay::execute(ClientId client, std::int64_t id, const EndCommand& command) {
  control_.send(client, json::serialize(json::object{{"done", id}}));
  shut_down(command.drain);
}

void Relay::on_drained(const Drained& drained) {
  log_.write(cat("drained: run ", drained.run, ", ", drained.finished, " finished, ", drained.cut,
                 " cut, ", drained.broken, " broken off"));
  control_.broadcast(drained_line(drained));
}

// At the connection limit, closes the session that has been idle for longest, so that unused
// keep-alive connections do not block new clients. It must have been idle for kMinIdleTime, which
// makes it unlikely that its client is just sending a request.
bool Relay::ensure_capacity() {
  if (sessions_.size() < spec_.most_connections) return true;
  const Moment now = std::chrono::steady_clock::now();
  if (context_.idle_sessions.empty() ||
      now - context_.idle_sessions.front()->idle_since_ < kMinIdleTime) {
    log_rarely(full_logged_, cat("connection limit reached: ", sessions_.size(),
                                 " in use (most_connections); new clients wait"));
    return false;
  }
  const auto longest = context_.idle_sessions.front()->shared_from_this();
  ++context_.counts.displaced;
  log_rarely(displaced_logged_, cat("connection limit reached: ", sessions_.size(),
                                    " open (most_connections); closing idle ones for new clients"));
  longest->drop();
  return true;
}

bool Relay::accept(AcceptedConnection arrival) {
  const auto client = std::make_shared<Socket>(loop_, nullptr);
  if (const int code = client->adopt(arrival.descriptor, arrival.family); code != 0) {
    log_exhausted(code);
    return false;
  }
  ++context_.counts.connections;
  const auto session = spec_.mode == api::EndpointMode::kHttp
                           ? make_http_session(context_, client, std::move(arrival.address))
                           : make_tcp_session(context_, client);
  session->position_ = sessions_.insert(sessions_.end(), session);
  session->start();
  tick();
  return true;
}

void Relay::on_session_closed(Session& session) {
  session.mark_busy(context_);
  sessions_.erase(session.position_);
  listener_.resume();
  if (context_.is_ending && sessions_.empty()) loop_.stop();
}

// Stops while there is nothing to check, so that an endpoint without clients uses no CPU.
void Relay::tick() {
  if (is_ticking_ || (sessions_.empty() && context_.keep_alive_pool.empty())) return;
  is_ticking_ = true;
  tick_.expires_after(tick_of(spec_));
  tick_.async_wait([this](boost::system::error_code status) {
    is_ticking_ = false;
    if (status) return;
    const Moment now = std::chrono::steady_clock::now();
    context_.keep_alive_pool.close_expired(now);
    for (auto at = sessions_.begin(); at != sessions_.end();) {
      const std::shared_ptr<Session> session = *at++;
      session->check(now);
    }
    listener_.resume();  // an idle session may now be old enough to be closed for a new client
    tick();
  });
}

void Relay::watch_signals() {
  signals_.async_wait(asio::posix::stream_descriptor::wait_read,
                      [this](boost::system::error_code status) {
                        if (!status) shut_down(milliseconds(0));
                      });
}

void Relay::shut_down(milliseconds drain) {
  const Moment until = std::chrono::steady_clock::now() + drain;
  if (context_.is_ending && shutdown_timer_.expiry() <= until) return;
  const bool is_first = !std::exchange(context_.is_ending, true);
  if (is_first) {
    log_.write(cat("shutting down: ", context_.routes.active(), " in flight, drain timeout ",
                   drain.count(), " ms"));
    listener_.close();
    context_.keep_alive_pool.clear();
  }
  shutdown_timer_.expires_at(until);
  shutdown_timer_.async_wait([this](boost::system::error_code status) {
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

void Relay::log_exhausted(int code) {
  const bool is_epoll = code == ENOSPC;
  log_rarely(exhausted_logged_,
             cat("cannot accept connections beyond the ", sessions_.size(),
                 " open ones: ", std::generic_category().message(code), "; raise ",
                 is_epoll ? "fs.epoll.max_user_watches" : "the limit of open files (nofile)"));
}

void Relay::log_rarely(std::optional<Moment>& last_logged, const std::string& text) {
  const Moment now = std::chrono::steady_clock::now();
  if (last_logged && now - *last_logged < kLogInterval) return;
  last_logged = now;
  log_.write(text);
}

}  // namespace tangram::endpoint
