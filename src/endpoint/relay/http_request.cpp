// See http_session.hpp: from the client to the replica.
#include <utility>

#include "endpoint/http/characters.hpp"
#include "endpoint/relay/http_session.hpp"

namespace tangram::endpoint {
namespace {

using std::chrono::steady_clock;

// Some clients send an extra CRLF after a body.
void skip_empty_lines(Buffer& in) {
  while (in.view().starts_with("\r\n")) in.consume(2);
}

// Whether the whole request can be kept for a retry, and its size is known in advance.
bool can_be_held(const RequestHead& head) {
  return head.framing == Framing::kNone ||
         (head.framing == Framing::kLength && head.length <= OutputQueue::kMaxHeld);
}

}  // namespace

bool HttpSession::read_request_head() {
  if (!has_partial_head_) skip_empty_lines(client_->in);
  const std::string_view bytes = client_->in.view();
  if (bytes.empty() || bytes == "\r") {
    if (client_->has_ended()) close(Outcome::kNotStarted, false);
    return false;
  }
  if (!std::exchange(has_partial_head_, true)) {
    deadline_ = steady_clock::now() + context_.spec.header;
    mark_busy(context_);
  }
  // Input that is not HTTP at all (e.g. TLS) may have no line end to wait for.
  const HeadScan::State state = is_token(bytes[0]) ? scan_.scan(bytes) : HeadScan::State::kInvalid;
  switch (state) {
    case HeadScan::State::kComplete:
      begin_request(scan_.size());
      return true;
    case HeadScan::State::kInvalid:
      refuse(400, "bad-request", "malformed request: invalid header line");
      return true;
    case HeadScan::State::kTooLarge:
      refuse(431, "header-too-large", "request header too large: the limit is 65536 bytes");
      return true;
    case HeadScan::State::kIncomplete:
      break;
  }
  if (client_->has_ended()) close(Outcome::kNotStarted, false);
  return false;
}

void HttpSession::begin_request(std::size_t head_size) {
  RequestHead& head = context_.request;
  const auto read = parse_head(client_->in.view().substr(0, head_size), head);
  scan_ = {};
  has_partial_head_ = false;
  if (!read) {
    const bool is_connect = read.error().status == 501;
    refuse(read.error().status, is_connect ? "no-tunnel" : "bad-request", read.error().detail);
    return;
  }
  request_ =
      RequestState{.request_body = Body(head.framing, head.length),
                   .response_body = {},
                   .is_head = head.method == "HEAD",
                   .is_http11 = head.is_http11,
                   .is_idempotent = head.is_idempotent,
                   .is_retryable = head.is_idempotent && can_be_held(head),
                   .wants_upgrade = head.wants_upgrade,
                   .awaits_continue = head.expects_continue && head.framing != Framing::kNone,
                   .keeps_client = head.is_keep_alive()};
  const Forwarded forwarded{address_};
  write_head(to_replica_.text(), head, context_.spec.forwarded ? &forwarded : nullptr);
  client_->in.consume(head_size);
  if (queue_request_body()) find_replica();
}

bool HttpSession::queue_request_body() {
  Body& body = request_.request_body;
  if (body.is_complete()) return true;
  to_replica_.add(*client_, body.take(to_replica_.unqueued(*client_)));
  if (!body.is_broken()) return true;
  if (request_.has_response) {
    abort_exchange(Outcome::kBroken);
  } else {
    refuse(400, "bad-request", "malformed request: invalid chunk in the body");
  }
  return false;
}

void HttpSession::find_replica() {
  stage_ = Stage::kConnecting;
  if (context_.routes.current()) {
    KeepAlivePool& pool = context_.keep_alive_pool;
    const bool is_retryable = request_.is_retryable;
    replica_ = is_retryable ? pool.take(*this) : pool.take_for_non_idempotent(*this);
    if (replica_) {
      request_.route = *context_.routes.attach(*this);
      request_.is_reused = true;
      if (is_retryable) to_replica_.hold_for_retry(*client_);
      stage_ = Stage::kRelaying;
      deadline_ = context_.idle_deadline();
      return;
    }
  }
  connector_.start();
}

void HttpSession::relay_request() {
  if (!queue_request_body()) return;
  // The replica may have answered before it closed, so its response is read before the exchange
  // ends. Output that a retry may need is kept.
  if (!to_replica_.flush(*client_, *replica_)) request_.is_replica_reading = false;
  if (!request_.is_replica_reading && !to_replica_.is_held()) to_replica_.discard(*client_);
  if (client_->has_failed()) {
    close(Outcome::kBroken, false);
    return;
  }
  if (!client_->has_ended()) return;
  if (!request_.request_body.is_complete()) {
    // The request stays incomplete: reset, so that the replica does not take it for a whole one.
    replica_->close(true);
    close(Outcome::kBroken, false);
    return;
  }
  if (to_replica_.empty() && client_->in.empty()) replica_->half_close();
}

bool HttpSession::retry() {
  if (!request_.is_reused || !to_replica_.is_held() || request_.is_answered) return false;
  ++context_.counts.retried;
  release_replica(Outcome::kNotStarted);
  to_replica_.rewind();
  to_replica_.release();
  request_.is_reused = false;
  request_.is_replica_reading = true;
  stage_ = Stage::kConnecting;
  connector_.start();
  return true;
}

}  // namespace tangram::endpoint
