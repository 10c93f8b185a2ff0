// See http_session.hpp: from the replica to the client.
#include <utility>

#include "base/text.hpp"
#include "endpoint/relay/http_session.hpp"

namespace tangram::endpoint {
namespace {

using std::chrono::steady_clock;

}  // namespace

void HttpSession::relay_response() {
  if (!request_.is_answered && !replica_->in.empty()) {
    request_.is_answered = true;
    to_replica_.release();
  }
  read_response_heads();
  if (stage_ == Stage::kTunnel) {
    relay_tunnel();
    return;
  }
  if (stage_ != Stage::kRelaying) return;
  if (request_.has_response) {
    to_client_.add(*replica_, request_.response_body.take(to_client_.unqueued(*replica_)));
  }
  if (!to_client_.flush(*replica_, *client_)) {
    // The client is gone: closing lets the replica stop working on the request.
    close(Outcome::kBroken, false);
    return;
  }
  // While a slow client reads, the replica's connection idles and may be closed: do not pool it.
  if (!to_client_.empty()) request_.keeps_replica = false;
  if (request_.response_body.is_broken() && to_client_.empty()) {
    abort_exchange(Outcome::kBroken);
    return;
  }
  if (replica_->has_ended()) on_replica_end();
}

// Interim responses (100 Continue, 103 Early Hints) may precede the final one.
void HttpSession::read_response_heads() {
  while (stage_ == Stage::kRelaying && !request_.has_response &&
         to_client_.unsent_text() < kMaxHeadSize && read_response_head()) {
  }
}

bool HttpSession::read_response_head() {
  const std::string_view bytes = replica_->in.view();
  switch (request_.response_scan.scan(bytes)) {
    case HeadScan::State::kIncomplete:
      return false;
    case HeadScan::State::kComplete:
      break;
    default:
      refuse(502, "bad-response", "the replica's response is not valid HTTP/1.1");
      return false;
  }
  ResponseHead& head = context_.response;
  const std::size_t size = request_.response_scan.size();
  if (const auto read = parse_head(bytes.substr(0, size), request_.is_head, head); !read) {
    refuse(502, "bad-response", cat("invalid response from the replica: ", read.error().detail));
    return false;
  }
  if (!accept_head(head)) return false;
  if (replica_) replica_->in.consume(size);
  request_.response_scan = {};
  return true;
}

bool HttpSession::accept_head(const ResponseHead& head) {
  if (head.status == 101) {
    if (!request_.wants_upgrade) {
      refuse(502, "bad-response", "the replica switched protocols without being asked to");
      return false;
    }
    become_tunnel(head);
    return true;
  }
  if (head.status < 200) {
    request_.awaits_continue = request_.awaits_continue && head.status != 100;
    if (request_.is_http11) write_head(to_client_.text(), head, true, true);
    return true;
  }
  if (head.framing == Framing::kChunked && !request_.is_http11) {
    refuse(502, "bad-response",
           "the replica's response is chunked, which an HTTP/1.0 client cannot read");
    return false;
  }
  request_.has_response = true;
  request_.response_body = Body(head.framing, head.length);
  // For an HTTP/1.0 client the replica was sent "Connection: close", whatever it answers.
  request_.keeps_replica =
      request_.is_http11 && head.is_keep_alive() && head.framing != Framing::kUntilClose;
  // Without 100 Continue the client may or may not send its body, so no request can follow.
  request_.keeps_client = request_.keeps_client && head.framing != Framing::kUntilClose &&
                          !context_.is_ending &&
                          (!request_.awaits_continue || request_.request_body.is_complete());
  ++context_.counts.requests;
  write_head(to_client_.text(), head, request_.keeps_client, request_.is_http11);
  return true;
}

void HttpSession::become_tunnel(const ResponseHead& head) {
  ++context_.counts.requests;
  request_.has_response = true;
  write_head(to_client_.text(), head, true, true);
  stage_ = Stage::kTunnel;
}

void HttpSession::on_replica_end() {
  if (!request_.has_response) {
    if (!to_client_.empty()) return;
    if (request_.is_reused && !request_.is_answered && !replica_->is_half_closed() &&
        context_.routes.current() == request_.route) {
      context_.keep_alive_pool.mark_unreliable();
    }
    if (retry()) return;
    refuse(502, "broken-off",
           "the replica closed the connection without a response; the request may have "
           "been executed");
    return;
  }
  if (request_.response_body.is_complete()) return;
  if (request_.response_body.framing() == Framing::kUntilClose && !replica_->has_failed()) {
    request_.response_body.on_eof();
  } else if (to_client_.empty()) {
    abort_exchange(Outcome::kBroken);  // everything received was relayed, but it is incomplete
  }
}

bool HttpSession::is_exchange_complete() const {
  if (!request_.has_response || !request_.response_body.is_complete() || !to_client_.empty())
    return false;
  if (request_.request_body.is_complete() && to_replica_.empty()) return true;
  // Otherwise wait for the rest of the request, unless it cannot be delivered or may never come.
  return !request_.is_replica_reading || request_.awaits_continue || replica_->has_ended();
}

void HttpSession::finish_exchange() {
  const bool is_request_complete = request_.request_body.is_complete() && to_replica_.empty();
  const bool is_useful =
      request_.is_idempotent || context_.keep_alive_pool.is_useful_for_non_idempotent();
  const bool keeps_replica = request_.keeps_replica && is_useful && is_request_complete &&
                             !replica_->has_ended() && !replica_->is_half_closed() &&
                             replica_->in.empty() && !context_.is_ending &&
                             context_.routes.current() == request_.route;
  if (keeps_replica) context_.keep_alive_pool.put(std::exchange(replica_, nullptr));
  release_replica(Outcome::kFinished);
  to_replica_.reset();
  if (!request_.keeps_client || context_.is_ending || !is_request_complete) {
    linger();
    return;
  }
  request_ = {};
  stage_ = Stage::kHead;
  const Moment now = steady_clock::now();
  deadline_ = now + context_.spec.keep_alive;
  mark_idle(context_, now);
}

}  // namespace tangram::endpoint
