// See http_session.hpp: the stages of the connection.
#include "endpoint/relay/http_session.hpp"

#include <utility>

#include "endpoint/http/error_response.hpp"

namespace tangram::endpoint {
namespace {

using std::chrono::steady_clock;

// How long a client may take to read the last response and close.
constexpr std::chrono::milliseconds kLinger{2'000};
constexpr std::chrono::milliseconds kLingerAtShutdown{200};

}  // namespace

HttpSession::HttpSession(RelayContext& context, std::shared_ptr<Socket> client, std::string address)
    : context_(context),
      address_(std::move(address)),
      client_(std::move(client)),
      connector_(context, *this, *this) {
  client_->set_owner(this);
  client_->count_bytes(context.counts.bytes_in, context.counts.bytes_out);
}

void HttpSession::start() {
  const Moment now = steady_clock::now();
  deadline_ = now + context_.spec.header;
  mark_idle(context_, now);
  client_->read(kMaxHeadSize);
}

void HttpSession::on_bytes(Socket& /*socket*/) {
  const auto self = shared_from_this();
  advance();
}

void HttpSession::on_writable(Socket& /*socket*/) {
  const auto self = shared_from_this();
  advance();
}

void HttpSession::on_connected(Socket& /*socket*/, bool connected) {
  const auto self = shared_from_this();
  replica_ = connector_.on_connected(connected);
  if (!replica_) return;
  request_.route = connector_.route();
  stage_ = Stage::kRelaying;
  advance();
}

void HttpSession::on_route() {
  if (stage_ == Stage::kConnecting) connector_.on_route();
}

void HttpSession::advance() {
  if (stage_ == Stage::kRelaying || stage_ == Stage::kTunnel) {
    deadline_ = context_.idle_deadline();
  }
  while (step()) {
  }
  request_reads();
}

bool HttpSession::step() {
  switch (stage_) {
    case Stage::kHead:
      return read_request_head();
    case Stage::kConnecting:
      // A half-closed client still gets its response; a broken connection ends the session.
      if (client_->has_failed()) close(Outcome::kNotStarted, false);
      return false;
    case Stage::kRelaying:
      relay_request();
      if (stage_ == Stage::kRelaying) relay_response();
      if (stage_ == Stage::kRelaying && is_exchange_complete()) finish_exchange();
      return stage_ != Stage::kRelaying;
    case Stage::kTunnel:
      relay_tunnel();
      return false;
    case Stage::kLingering:
      continue_lingering();
      return false;
    case Stage::kClosed:
      break;
  }
  return false;
}

// Back-pressure: each side is read only while the buffer for the other side has space.
void HttpSession::request_reads() {
  switch (stage_) {
    case Stage::kHead:
      client_->read(kMaxHeadSize);
      break;
    case Stage::kConnecting:
    case Stage::kLingering:
      client_->read(kMaxBuffer);
      break;
    case Stage::kRelaying:
    case Stage::kTunnel:
      client_->read(kMaxBuffer);
      replica_->read(request_.has_response ? kMaxBuffer : kMaxHeadSize);
      break;
    case Stage::kClosed:
      break;
  }
}

void HttpSession::check(Moment now) {
  const auto self = shared_from_this();
  if (stage_ == Stage::kConnecting && connector_.has_timed_out(now)) {
    const char* why = "the service's replica does not accept connections; try again later";
    if (connector_.has_no_route()) {
      why = "the service has no replica at the moment; try again later";
    } else if (connector_.is_foreign()) {
      why = "the port of the service's replica is in use by another user; try again later";
    }
    refuse(503, "no-replica", why);
    advance();
    return;
  }
  if (stage_ == Stage::kConnecting && connector_.is_abandoned(*client_, now)) {
    close(Outcome::kNotStarted, false);
    return;
  }
  if (now < deadline_ || stage_ == Stage::kConnecting || stage_ == Stage::kClosed) return;
  if (stage_ == Stage::kHead && has_partial_head_) {
    refuse(408, "too-slow", "timed out waiting for the request header");
    advance();
    return;
  }
  cut();
}

void HttpSession::wind_down() {
  if (stage_ == Stage::kHead) {
    close(Outcome::kNotStarted, false);
    return;
  }
  if (stage_ != Stage::kConnecting || !connector_.has_no_route()) return;
  refuse(503, "no-replica", "the service is shutting down and has no replica");
  advance();
}

void HttpSession::drop() {
  const bool is_with_replica = stage_ == Stage::kRelaying || stage_ == Stage::kTunnel;
  close(is_with_replica ? Outcome::kCut : Outcome::kNotStarted, is_with_replica);
}

void HttpSession::cut() {
  const auto self = shared_from_this();
  if (stage_ == Stage::kRelaying) {
    abort_exchange(Outcome::kCut);
    advance();
    return;
  }
  drop();
}

void HttpSession::abort_exchange(Outcome outcome) {
  if (!request_.has_response) {
    release_replica(outcome);
    answer_last(502, "broken-off",
                "the replica did not respond in time; the request may have been executed");
    return;
  }
  // A response that ends with the connection can only be marked incomplete by a reset.
  const bool reset = request_.response_body.framing() == Framing::kUntilClose;
  close(outcome, reset);
}

void HttpSession::refuse(int status, std::string_view kind, std::string_view detail) {
  ++context_.counts.refused;
  release_replica(replica_ ? Outcome::kBroken : Outcome::kNotStarted);
  answer_last(status, kind, detail);
}

void HttpSession::answer_last(int status, std::string_view kind, std::string_view detail) {
  to_client_.text() += error_response(status, kind, detail, request_.is_head);
  linger();
}

void HttpSession::release_replica(Outcome outcome) {
  connector_.stop();
  if (replica_) std::exchange(replica_, nullptr)->close();
  context_.detach(*this, outcome);
}

void HttpSession::linger() {
  stage_ = Stage::kLingering;
  deadline_ = steady_clock::now() + (context_.is_ending ? kLingerAtShutdown : kLinger);
}

// Closing a connection with unread input resets it, and the reset may overtake the response. So the
// rest of the input is read and discarded.
void HttpSession::continue_lingering() {
  if (!to_client_.flush(*client_, *client_) || client_->has_failed()) {
    close(Outcome::kNotStarted, false);
    return;
  }
  if (!to_client_.empty()) return;
  client_->half_close();
  client_->in.consume(client_->in.size());
  if (client_->has_ended()) close(Outcome::kNotStarted, false);
}

void HttpSession::relay_tunnel() {
  to_replica_.add(*client_, to_replica_.unqueued(*client_).size());
  to_client_.add(*replica_, to_client_.unqueued(*replica_).size());
  const bool is_intact = to_replica_.flush(*client_, *replica_) &&
                         to_client_.flush(*replica_, *client_) && !client_->has_failed() &&
                         !replica_->has_failed();
  if (!is_intact) {
    close(Outcome::kBroken, true);
    return;
  }
  if (client_->has_ended() && to_replica_.empty()) replica_->half_close();
  if (replica_->has_ended() && to_client_.empty()) client_->half_close();
  if (client_->is_half_closed() && replica_->is_half_closed()) close(Outcome::kFinished, false);
}

void HttpSession::close(Outcome outcome, bool reset) {
  if (std::exchange(stage_, Stage::kClosed) == Stage::kClosed) return;
  client_->close(reset);
  if (replica_) replica_->close(reset);
  release_replica(outcome);
  context_.on_session_closed(*this);
}

std::shared_ptr<Session> make_http_session(RelayContext& context, std::shared_ptr<Socket> client,
                                           std::string address) {
  return std::make_shared<HttpSession>(context, std::move(client), std::move(address));
}

}  // namespace tangram::endpoint
