// See connection.hpp: reading requests. A malformed or ambiguous request is answered if possible,
// recorded in the audit log if it could have been a change, and its connection is closed, because
// it is unknown where the next request begins.
#include <algorithm>

#include <boost/asio/write.hpp>

#include "base/text.hpp"
#include "http/routes/identity.hpp"
#include "http/routes/routes.hpp"
#include "http/server/session.hpp"

namespace tangram::http {
namespace {

namespace bhttp = beast::http;

constexpr auto kTimeoutGrace = std::chrono::seconds(1);
constexpr std::size_t kFirstRead = std::size_t{4} * 1024;
constexpr std::size_t kMaxUnauthenticatedBody = 1024;  // no public route has a body

std::string_view view_of(beast::string_view text) { return {text.data(), text.size()}; }
std::string text_of(beast::string_view text) { return {text.data(), text.size()}; }

api::Problem bad_request(std::string detail) {
  return problem(400, "bad-request", std::move(detail));
}

// The answer to a request that cannot be read; nullopt: close the connection without one.
std::optional<api::Problem> problem_of(ErrorStatus status) {
  if (status == bhttp::error::header_limit) {
    return problem(431, "header-too-large",
                   cat("header too large: at most ", kMaxHeaderSize, " bytes"));
  }
  if (status == bhttp::error::body_limit) {
    return problem(413, "body-too-large", "body too large");
  }
  const bool malformed = status.category() == make_error_code(bhttp::error::bad_method).category();
  if (!malformed || status == bhttp::error::end_of_stream ||
      status == bhttp::error::partial_message) {
    return std::nullopt;
  }
  return bad_request(cat("malformed request: ", status.message()));
}

api::Problem too_slow(std::chrono::seconds time) {
  return problem(408, "request-timeout",
                 cat("request timeout: not complete after ", time.count(), " s"));
}

// Rejects what Beast accepts but two HTTP implementations in a row could interpret differently, so
// that one of them takes part of a body for a request (request smuggling).
template <class Fields>
std::optional<api::Problem> ambiguity_of(const Fields& header) {
  const std::size_t lengths = header.count(bhttp::field::content_length);
  const std::size_t encodings = header.count(bhttp::field::transfer_encoding);
  if (lengths + encodings > 1) {
    return bad_request("ambiguous body length: use one Content-Length or Transfer-Encoding header");
  }
  const std::string_view length = view_of(header[bhttp::field::content_length]);
  if (length.find_first_not_of("0123456789") != std::string_view::npos) {
    return bad_request("invalid Content-Length: not a number");
  }
  if (encodings > 0 && header.version() < 11) {
    return bad_request("Transfer-Encoding is invalid in HTTP/1.0: use Content-Length or HTTP/1.1");
  }
  if (encodings > 0 && !beast::iequals(header[bhttp::field::transfer_encoding], "chunked")) {
    return bad_request("unsupported Transfer-Encoding: use chunked");
  }
  if (header.version() == 11 && header.count(bhttp::field::host) != 1) {
    return bad_request("HTTP/1.1 requires exactly one Host header");
  }
  for (const char* name : {"Authorization", "Idempotency-Key", "Last-Event-ID"}) {
    if (header.count(name) > 1) return bad_request(cat("duplicate ", name, " header"));
  }
  return std::nullopt;
}

api::Problem request_quota_exceeded() {
  return problem(503, "too-many-bodies",
                 "too much request data in flight, yours or in total: try again in a moment");
}

}  // namespace

// Keep-alive: between requests the longer idle timeout applies.
Task<bool> Session::await_request() {
  if (buffer_.size() > 0) co_return true;
  stream_.expires_after(std::min(idle_timeout(), lifetime_left()));
  const auto [status, size] = co_await stream_.async_read_some(buffer_.prepare(kFirstRead), kTuple);
  if (status) co_return false;
  buffer_.commit(size);
  co_return true;
}

// When request_timer_ expires, reading is cancelled and the client gets a 408. The timeout of the
// stream is set a little later, because it closes the socket and no response could be sent: it is
// for a read that completes just as our timer expires and is followed by another.
void Session::start_request_timer() {
  stream_.expires_after(context_->options.header_timeout + kTimeoutGrace);
  is_timed_out_ = false;
  request_timer_.expires_after(context_->options.header_timeout);
  request_timer_.async_wait(
      [weak = weak_from_this(), generation = ++timer_generation_](ErrorStatus status) {
        const auto self = weak.lock();
        if (status || !self || self->timer_generation_ != generation) return;
        self->is_timed_out_ = true;
        self->stream_.cancel();
      });
}

void Session::stop_request_timer() {
  ++timer_generation_;  // the handler of an expired timer may still be queued
  request_timer_.cancel();
  stream_.expires_never();
}

Task<bool> Session::read_header(Parser& parser) {
  start_request_timer();
  const auto [status, size] = co_await bhttp::async_read_header(stream_, buffer_, parser, kTuple);
  if (status) co_return co_await reject(parser, caller_, status);
  if (auto why = ambiguity_of(parser.get())) {
    co_return co_await reject(parser, caller_, std::move(*why));
  }
  if (parser.is_done()) stop_request_timer();
  co_return true;
}

Task<bool> Session::read_body(Parser& parser, const Request& request) {
  if (parser.is_done()) co_return true;
  const Caller& caller = request.caller;
  const std::size_t max_size =
      is_unauthenticated(caller)
          ? kMaxUnauthenticatedBody
          : max_body_size(request.method, request.path, context_->options.max_body_size);
  if (parser.content_length().value_or(0) > max_size) {
    co_return co_await reject(parser, caller, bhttp::error::body_limit);
  }
  parser.body_limit(max_size);
  if (is_timed_out_)
    co_return co_await reject(parser, caller, too_slow(context_->options.header_timeout));
  body_quota_ =
      context_->request_bytes.try_acquire(client_key_, parser.content_length().value_or(max_size));
  if (!body_quota_) co_return co_await reject(parser, caller, request_quota_exceeded());
  if (beast::iequals(parser.get()[bhttp::field::expect], "100-continue")) {
    static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    const auto [status, size] = co_await asio::async_write(
        stream_, asio::buffer(kContinue.data(), kContinue.size()), kTuple);
    if (status) co_return false;
  }
  const auto [status, size] = co_await bhttp::async_read(stream_, buffer_, parser, kTuple);
  if (status) co_return co_await reject(parser, caller, status);
  stop_request_timer();
  co_return true;
}

Task<bool> Session::reject(const Parser& parser, const Caller& caller, ErrorStatus status) {
  std::optional<api::Problem> why =
      is_timed_out_ ? too_slow(context_->options.header_timeout) : problem_of(status);
  if (!why) co_return false;
  co_return co_await reject(parser, caller, std::move(*why));
}

Task<bool> Session::reject(const Parser& parser, const Caller& caller, api::Problem why) {
  stop_request_timer();
  audit(parser, caller, why.status);
  Frame frame;
  frame.keep_alive = false;
  co_await write(problem_response(why), frame);
  co_return false;
}

void Session::audit(const Parser& parser, const Caller& caller, int status) const {
  const auto& message = parser.get();
  const std::string_view method = view_of(message.method_string());
  const std::string_view target = view_of(message.target());
  const bool is_read = method.empty() || method == "GET" || method == "HEAD";
  if (is_read || !context_->is_open || !context_->handlers.on_answered) return;
  context_->handlers.on_answered(caller, method, target.substr(0, target.find('?')), status, "");
}

Result<Request> Session::request_of(const Parser& parser) const {
  const auto& message = parser.get();
  auto target = parse_target(view_of(message.target()));
  if (!target) return std::unexpected(target.error());
  Request request;
  request.method = text_of(message.method_string());
  request.path = std::move(target->path);
  request.query = std::move(target->query);
  request.content_type = text_of(message[bhttp::field::content_type]);
  request.authorization = text_of(message[bhttp::field::authorization]);
  request.idempotency_key = text_of(message["Idempotency-Key"]);
  request.last_event_id = text_of(message["Last-Event-ID"]);
  request.caller = caller_;
  return request;
}

}  // namespace tangram::http
