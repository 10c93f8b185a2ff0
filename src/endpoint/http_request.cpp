// See http_session.hpp: from the client to the replica.
#include <utility>

#include "endpoint/characters.hpp"
#include "endpoint/http_session.hpp"

namespace tangram::endpoint {
namespace {

using std::chrono::steady_clock;

// Some clients end a body with one line end too many.
void skip_empty_lines(Buffer& in) {
  while (in.view().starts_with("\r\n")) in.consume(2);
}

// What could not be sent again, whole, must not be left to a connection that may be closed.
bool can_be_held(const RequestHead& head) {
  return head.framing == Framing::kNone ||
         (head.framing == Framing::kLength && head.length <= Flow::kMostHeld);
}

}  // namespace

bool HttpSession::take_head() {
  if (!has_begun_) skip_empty_lines(client_->in);
  const std::string_view bytes = client_->in.view();
  if (bytes.empty() || bytes == "\r") {
    if (client_->ended()) end(Ending::kMoved, false);
    return false;
  }
  if (!std::exchange(has_begun_, true)) {
    deadline_ = steady_clock::now() + house_.spec.header;
    rise(house_);
  }
  // What is no HTTP at all (TLS, say) has no line ends either, and would be waited for.
  const HeadScan::State state = is_token(bytes[0]) ? scan_.look(bytes) : HeadScan::State::kBad;
  switch (state) {
    case HeadScan::State::kWhole:
      begin(scan_.size());
      return true;
    case HeadScan::State::kBad:
      refuse(400, "bad-request", "this is not HTTP/1.1: a line of the header is no good.");
      return true;
    case HeadScan::State::kTooLarge:
      refuse(431, "header-too-large", "the header is larger than 65536 bytes.");
      return true;
    case HeadScan::State::kMore:
      break;
  }
  if (client_->ended()) end(Ending::kMoved, false);
  return false;
}

void HttpSession::begin(std::size_t head_size) {
  RequestHead& head = house_.request;
  const auto read = read_head(client_->in.view().substr(0, head_size), head);
  scan_ = {};
  has_begun_ = false;
  if (!read) {
    const bool is_connect = read.error().status == 501;
    return refuse(read.error().status, is_connect ? "no-tunnel" : "bad-request",
                  read.error().detail);
  }
  exchange_ = Exchange{.request = Body(head.framing, head.length),
                       .response = {},
                       .is_head = head.method == "HEAD",
                       .is_11 = head.is_11,
                       .is_idempotent = head.is_idempotent,
                       .is_repeatable = head.is_idempotent && can_be_held(head),
                       .upgrades = head.upgrades,
                       .may_wait = head.expects_continue && head.framing != Framing::kNone,
                       .keeps_client = head.keeps_alive()};
  const Forwarded forwarded{address_};
  write_head(up_.text(), head, house_.spec.forwarded ? &forwarded : nullptr);
  client_->in.consume(head_size);
  if (take_request_body()) find_replica();
}

bool HttpSession::take_request_body() {
  Body& body = exchange_.request;
  if (body.is_over()) return true;
  up_.add(*client_, body.take(up_.rest(*client_)));
  if (!body.is_broken()) return true;
  if (exchange_.has_response) {
    break_off(Ending::kBroken);
  } else {
    refuse(400, "bad-request", "the chunks of the request's body are no good.");
  }
  return false;
}

void HttpSession::find_replica() {
  stage_ = Stage::kDialing;
  if (house_.routes.current()) {
    const bool may_end = exchange_.is_repeatable;
    replica_ = may_end ? house_.pool.take(*this) : house_.pool.take_sure(*this);
    if (replica_) {
      exchange_.route = *house_.routes.enter(*this);
      exchange_.is_reused = true;
      if (may_end) up_.hold(*client_);
      stage_ = Stage::kRelaying;
      deadline_ = house_.idle_deadline();
      return;
    }
  }
  dial_.start();
}

void HttpSession::pass_request() {
  if (!take_request_body()) return;
  // It may have answered before it closed: what it said is read first. What may have to be sent
  // again stays.
  if (!up_.push(*client_, *replica_)) exchange_.is_replica_deaf = true;
  if (exchange_.is_replica_deaf && !up_.is_held()) up_.discard(*client_);
  if (client_->failed()) return end(Ending::kBroken, false);
  if (!client_->ended()) return;
  if (!exchange_.request.is_over()) {
    // The request will never be whole. The replica must not take what came for all of it.
    replica_->close(true);
    return end(Ending::kBroken, false);
  }
  if (up_.empty() && client_->in.empty()) replica_->finish();
}

bool HttpSession::repeat() {
  if (!exchange_.is_reused || !up_.is_held() || exchange_.is_answered) return false;
  ++house_.counts.retried;
  let_replica_go(Ending::kMoved);
  up_.rewind();
  up_.release();
  exchange_.is_reused = false;
  exchange_.is_replica_deaf = false;
  stage_ = Stage::kDialing;
  dial_.start();
  return true;
}

}  // namespace tangram::endpoint
