// See http_session.hpp: from the replica to the client.
#include <utility>

#include "base/text.hpp"
#include "endpoint/http_session.hpp"

namespace tangram::endpoint {
namespace {

using std::chrono::steady_clock;

}  // namespace

void HttpSession::pass_response() {
  if (!exchange_.is_answered && !replica_->in.empty()) {
    exchange_.is_answered = true;
    up_.release();
  }
  take_response_heads();
  if (stage_ == Stage::kTunnel) {
    (void)tunnel_on();
    return;
  }
  if (stage_ != Stage::kRelaying) return;
  if (exchange_.has_response) {
    down_.add(*replica_, exchange_.response.take(down_.rest(*replica_)));
  }
  if (!down_.push(*replica_, *client_)) {
    // The client is gone: so is whatever is done for him.
    return end(Ending::kBroken, false);
  }
  // The client takes its time, and the replica may have been idle all the while.
  if (!down_.empty()) exchange_.keeps_replica = false;
  if (exchange_.response.is_broken() && down_.empty()) return break_off(Ending::kBroken);
  if (replica_->ended()) on_replica_end();
}

// There may be several: 100 Continue and 103 Early Hints come before the last one.
void HttpSession::take_response_heads() {
  while (stage_ == Stage::kRelaying && !exchange_.has_response &&
         down_.unsent_text() < kLargestHead && take_response_head()) {
  }
}

bool HttpSession::take_response_head() {
  const std::string_view bytes = replica_->in.view();
  switch (exchange_.scan.look(bytes)) {
    case HeadScan::State::kMore:
      return false;
    case HeadScan::State::kWhole:
      break;
    default:
      refuse(502, "bad-response", "the replica's response is not HTTP/1.1.");
      return false;
  }
  ResponseHead& head = house_.response;
  const std::size_t size = exchange_.scan.size();
  if (const auto read = read_head(bytes.substr(0, size), exchange_.is_head, head); !read) {
    refuse(502, "bad-response", cat("the replica's response is no good: ", read.error().detail));
    return false;
  }
  if (!accept_head(head)) return false;
  if (replica_) replica_->in.consume(size);
  exchange_.scan = {};
  return true;
}

// False: it is refused.
bool HttpSession::accept_head(const ResponseHead& head) {
  if (head.status == 101) {
    if (!exchange_.upgrades) {
      refuse(502, "bad-response", "the replica changes to a protocol nobody asked for.");
      return false;
    }
    become_tunnel(head);
    return true;
  }
  if (head.status < 200) {
    exchange_.may_wait = exchange_.may_wait && head.status != 100;
    if (exchange_.is_11) write_head(down_.text(), head, true, true);
    return true;
  }
  if (head.framing == Framing::kChunked && !exchange_.is_11) {
    refuse(502, "bad-response", "the replica answers in chunks, which HTTP/1.0 does not know.");
    return false;
  }
  exchange_.has_response = true;
  exchange_.response = Body(head.framing, head.length);
  // To a request of HTTP/1.0 the replica was told to close, whatever it says now.
  exchange_.keeps_replica =
      exchange_.is_11 && head.keeps_alive() && head.framing != Framing::kUntilClose;
  // A client that was never asked for its body may or may not send it: nothing can follow.
  exchange_.keeps_client = exchange_.keeps_client && head.framing != Framing::kUntilClose &&
                           !house_.is_ending &&
                           (!exchange_.may_wait || exchange_.request.is_over());
  ++house_.counts.requests;
  write_head(down_.text(), head, exchange_.keeps_client, exchange_.is_11);
  return true;
}

void HttpSession::become_tunnel(const ResponseHead& head) {
  ++house_.counts.requests;
  exchange_.has_response = true;
  write_head(down_.text(), head, true, true);
  stage_ = Stage::kTunnel;
}

void HttpSession::on_replica_end() {
  if (!exchange_.has_response) {
    if (!down_.empty()) return;
    if (exchange_.is_reused && !exchange_.is_answered && !replica_->finished() &&
        house_.routes.current() == exchange_.route) {
      house_.pool.distrust();
    }
    if (repeat()) return;
    return refuse(502, "broken-off",
                  "the replica ended the connection without a response; whether it did what was "
                  "asked is not known.");
  }
  if (exchange_.response.is_over()) return;
  if (exchange_.response.framing() == Framing::kUntilClose && !replica_->failed()) {
    exchange_.response.close();
  } else if (down_.empty()) {
    break_off(Ending::kBroken);  // what came of it has been passed on, and it is no whole
  }
}

bool HttpSession::is_exchange_over() const {
  if (!exchange_.has_response || !exchange_.response.is_over() || !down_.empty()) return false;
  if (exchange_.request.is_over() && up_.empty()) return true;
  // The rest of the request is still wanted, unless nobody takes it, or it may never come.
  return exchange_.is_replica_deaf || exchange_.may_wait || replica_->ended();
}

void HttpSession::finish_exchange() {
  const bool is_request_whole = exchange_.request.is_over() && up_.empty();
  const bool is_of_use = exchange_.is_idempotent || house_.pool.wants_any();
  const bool keeps_replica = exchange_.keeps_replica && is_of_use && is_request_whole &&
                             !replica_->ended() && !replica_->finished() && replica_->in.empty() &&
                             !house_.is_ending && house_.routes.current() == exchange_.route;
  if (keeps_replica) house_.pool.put(std::exchange(replica_, nullptr));
  let_replica_go(Ending::kFinished);
  up_.reset();
  if (!exchange_.keeps_client || house_.is_ending || !is_request_whole) return linger();
  exchange_ = {};
  stage_ = Stage::kHead;
  const Moment now = steady_clock::now();
  deadline_ = now + house_.spec.keep_alive;
  rest(house_, now);
}

}  // namespace tangram::endpoint
