// See http_session.hpp: the life of the connection.
#include "endpoint/http_session.hpp"

#include <utility>

#include "endpoint/refusal.hpp"

namespace tangram::endpoint {
namespace {

using std::chrono::steady_clock;

// For a client to read the last answer, and to stop sending what nobody reads any more.
constexpr std::chrono::milliseconds kLinger{2'000};
constexpr std::chrono::milliseconds kLingerAtTheEnd{200};  // of the endpoint

}  // namespace

HttpSession::HttpSession(House& house, std::shared_ptr<Wire> client, std::string address)
    : house_(house),
      address_(std::move(address)),
      client_(std::move(client)),
      dial_(house, *this, *this) {
  client_->set_owner(this);
  client_->count(house.counts.bytes_in, house.counts.bytes_out);
}

void HttpSession::start() {
  const Moment now = steady_clock::now();
  deadline_ = now + house_.spec.header;
  rest(house_, now);
  client_->read(kLargestHead);
}

void HttpSession::on_bytes(Wire& /*wire*/) {
  const auto self = shared_from_this();
  advance();
}

void HttpSession::on_room(Wire& /*wire*/) {
  const auto self = shared_from_this();
  advance();
}

void HttpSession::on_connected(Wire& /*wire*/, bool connected) {
  const auto self = shared_from_this();
  replica_ = dial_.on_connected(connected);
  if (!replica_) return;
  exchange_.route = dial_.route();
  stage_ = Stage::kRelaying;
  advance();
}

void HttpSession::on_route() {
  if (stage_ == Stage::kDialing) dial_.on_route();
}

void HttpSession::advance() {
  if (stage_ == Stage::kRelaying || stage_ == Stage::kTunnel) {
    deadline_ = house_.idle_deadline();
  }
  while (step()) {
  }
  read_on();
}

bool HttpSession::step() {
  switch (stage_) {
    case Stage::kHead:
      return take_head();
    case Stage::kDialing:
      // Half an end is fine; but who broke off waits for nothing.
      if (client_->failed()) end(Ending::kMoved, false);
      return false;
    case Stage::kRelaying:
      pass_request();
      if (stage_ == Stage::kRelaying) pass_response();
      if (stage_ == Stage::kRelaying && is_exchange_over()) finish_exchange();
      return stage_ != Stage::kRelaying;
    case Stage::kTunnel:
      return tunnel_on();
    case Stage::kLingering:
      return linger_on();
    case Stage::kOver:
      break;
  }
  return false;
}

// Only what there is room for: who does not read is not read from.
void HttpSession::read_on() {
  switch (stage_) {
    case Stage::kHead:
      client_->read(kLargestHead);
      break;
    case Stage::kDialing:
    case Stage::kLingering:
      client_->read(kLargestBuffer);
      break;
    case Stage::kRelaying:
    case Stage::kTunnel:
      client_->read(kLargestBuffer);
      replica_->read(exchange_.has_response ? kLargestBuffer : kLargestHead);
      break;
    case Stage::kOver:
      break;
  }
}

void HttpSession::check(Moment now) {
  const auto self = shared_from_this();
  if (stage_ == Stage::kDialing && dial_.is_too_late(now)) {
    refuse(503, "no-replica",
           dial_.is_waiting()
               ? "there is no replica of this service now; try again later."
               : "the replica of this service takes no connection; try again later.");
    return advance();
  }
  if (stage_ == Stage::kDialing && dial_.is_unwanted(*client_, now)) {
    return end(Ending::kMoved, false);
  }
  if (now < deadline_ || stage_ == Stage::kDialing || stage_ == Stage::kOver) return;
  if (stage_ == Stage::kHead && has_begun_) {
    refuse(408, "too-slow", "the header of the request did not come in time.");
    return advance();
  }
  cut();
}

void HttpSession::wind_down() {
  if (stage_ == Stage::kHead) return end(Ending::kMoved, false);
  if (stage_ != Stage::kDialing || !dial_.is_waiting()) return;
  refuse(503, "no-replica", "this service ends, and has no replica any more.");
  advance();
}

void HttpSession::drop() {
  const bool is_with_replica = stage_ == Stage::kRelaying || stage_ == Stage::kTunnel;
  end(is_with_replica ? Ending::kCut : Ending::kMoved, is_with_replica);
}

void HttpSession::cut() {
  const auto self = shared_from_this();
  if (stage_ == Stage::kRelaying) {
    break_off(Ending::kCut);
    return advance();
  }
  drop();
}

// The client can still be told, as long as nothing of a response has been.
void HttpSession::break_off(Ending ending) {
  if (!exchange_.has_response) {
    let_replica_go(ending);
    return answer_last(502, "broken-off",
                       "the replica did not answer in time; whether it did what was asked is "
                       "not known.");
  }
  // Only a break is told from the proper end of a response that has no other.
  const bool reset = exchange_.response.framing() == Framing::kUntilClose;
  end(ending, reset);
}

void HttpSession::refuse(int status, std::string_view kind, std::string_view detail) {
  ++house_.counts.refused;
  let_replica_go(replica_ ? Ending::kBroken : Ending::kMoved);
  answer_last(status, kind, detail);
}

void HttpSession::answer_last(int status, std::string_view kind, std::string_view detail) {
  down_.text() += refusal(status, kind, detail, exchange_.is_head);
  linger();
}

void HttpSession::let_replica_go(Ending ending) {
  dial_.stop();
  if (replica_) std::exchange(replica_, nullptr)->close();
  house_.leave(*this, ending);
}

void HttpSession::linger() {
  stage_ = Stage::kLingering;
  deadline_ = steady_clock::now() + (house_.is_ending ? kLingerAtTheEnd : kLinger);
}

// A connection that is closed while there is something to read is reset, and the reset may overtake
// the answer: so the rest is read, and thrown away.
bool HttpSession::linger_on() {
  if (!down_.push(*client_, *client_) || client_->failed()) {
    end(Ending::kMoved, false);
    return false;
  }
  if (!down_.empty()) return false;
  client_->finish();
  client_->in.consume(client_->in.size());
  if (client_->ended()) end(Ending::kMoved, false);
  return false;
}

bool HttpSession::tunnel_on() {
  up_.add(*client_, up_.rest(*client_).size());
  down_.add(*replica_, down_.rest(*replica_).size());
  const bool is_whole = up_.push(*client_, *replica_) && down_.push(*replica_, *client_) &&
                        !client_->failed() && !replica_->failed();
  if (!is_whole) {
    end(Ending::kBroken, true);
    return false;
  }
  if (client_->ended() && up_.empty()) replica_->finish();
  if (replica_->ended() && down_.empty()) client_->finish();
  if (client_->finished() && replica_->finished()) end(Ending::kFinished, false);
  return false;
}

// `ending` is for the exchange that is with the replica, if there is one.
void HttpSession::end(Ending ending, bool reset) {
  if (std::exchange(stage_, Stage::kOver) == Stage::kOver) return;
  client_->close(reset);
  if (replica_) replica_->close(reset);
  let_replica_go(ending);
  house_.over(*this);
}

std::shared_ptr<Session> make_http_session(House& house, std::shared_ptr<Wire> client,
                                           std::string address) {
  return std::make_shared<HttpSession>(house, std::move(client), std::move(address));
}

}  // namespace tangram::endpoint
