// See connection.hpp: a request is read. One rule: what cannot be read, or could be read in two
// ways, is answered as far as it can be, written down if it would have changed something, and ends
// the connection: where the next request begins is not known.
#include <algorithm>

#include <boost/asio/write.hpp>

#include "base/text.hpp"
#include "http/identity.hpp"
#include "http/routes.hpp"
#include "http/session.hpp"

namespace tangram::http {
namespace {

namespace bhttp = beast::http;

constexpr auto kGrace = std::chrono::seconds(1);
constexpr std::size_t kFirstRead = 4 * 1024;
constexpr std::size_t kLargestOfStrangers = 1024;  // they can ask nothing that needs a body

std::string_view view_of(beast::string_view text) { return {text.data(), text.size()}; }
std::string text_of(beast::string_view text) { return {text.data(), text.size()}; }

api::Problem bad_request(std::string detail) {
  return problem(400, "bad-request", std::move(detail));
}

// How a request that cannot be read is answered; none: not at all.
std::optional<api::Problem> problem_of(ErrorStatus status) {
  if (status == bhttp::error::header_limit) {
    return problem(431, "header-too-large",
                   cat("the header is larger than ", kLargestHeader, " bytes."));
  }
  if (status == bhttp::error::body_limit) {
    return problem(413, "body-too-large", "the body is larger than the daemon accepts.");
  }
  const bool malformed = status.category() == make_error_code(bhttp::error::bad_method).category();
  if (!malformed || status == bhttp::error::end_of_stream ||
      status == bhttp::error::partial_message) {
    return std::nullopt;
  }
  return bad_request(cat("this is not HTTP/1.1: ", status.message(), "."));
}

api::Problem too_slow(std::chrono::seconds time) {
  return problem(408, "request-timeout",
                 cat("the request was not complete ", time.count(), " s after it had begun."));
}

// What Beast lets pass, and what two programs in a row could understand differently, so that one
// of them takes part of a body for a request.
template <class Fields>
std::optional<api::Problem> ambiguity_of(const Fields& header) {
  const std::size_t lengths = header.count(bhttp::field::content_length);
  const std::size_t encodings = header.count(bhttp::field::transfer_encoding);
  if (lengths + encodings > 1) {
    return bad_request("the length of the body is given more than once.");
  }
  const std::string_view length = view_of(header[bhttp::field::content_length]);
  if (length.find_first_not_of("0123456789") != std::string_view::npos) {
    return bad_request("Content-Length must be a number.");
  }
  if (encodings > 0 && header.version() < 11) {
    return bad_request("HTTP/1.0 has no Transfer-Encoding; say Content-Length, or HTTP/1.1.");
  }
  if (encodings > 0 && !beast::iequals(header[bhttp::field::transfer_encoding], "chunked")) {
    return bad_request("the only Transfer-Encoding that is read is chunked.");
  }
  if (header.version() == 11 && header.count(bhttp::field::host) != 1) {
    return bad_request("HTTP/1.1 needs one Host header.");
  }
  for (const char* name : {"Authorization", "Idempotency-Key", "Last-Event-ID"}) {
    if (header.count(name) > 1)
      return bad_request(cat("there is more than one ", name, " header."));
  }
  return std::nullopt;
}

api::Problem no_room() {
  return problem(503, "too-many-bodies",
                 "you, or all together, send more at a time than tangramd has room for; try again "
                 "in a moment.");
}

}  // namespace

// Between requests a client may be idle for long; once one has begun it must hurry.
Task<bool> Session::await_request() {
  if (buffer_.size() > 0) co_return true;
  stream_.expires_after(std::min(patience(), time_left()));
  const auto [status, size] = co_await stream_.async_read_some(buffer_.prepare(kFirstRead), kTuple);
  if (status) co_return false;
  buffer_.commit(size);
  co_return true;
}

// The stream's own clock closes the socket, and then nobody can be told why. It is set too: what
// has just come when ours strikes is read, and then more.
void Session::hurry() {
  stream_.expires_after(house_->options.header_time + kGrace);
  is_late_ = false;
  clock_.expires_after(house_->options.header_time);
  clock_.async_wait([weak = weak_from_this(), turn = ++turn_](ErrorStatus status) {
    const auto self = weak.lock();
    if (status || !self || self->turn_ != turn) return;
    self->is_late_ = true;
    self->stream_.cancel();
  });
}

void Session::take_time() {
  ++turn_;  // the clock may have struck already, and is heard after this
  clock_.cancel();
  stream_.expires_never();
}

Task<bool> Session::read_header(Parser& parser) {
  hurry();  // with all of the request
  const auto [status, size] = co_await bhttp::async_read_header(stream_, buffer_, parser, kTuple);
  if (status) co_return co_await refuse(parser, caller_, status);
  if (auto why = ambiguity_of(parser.get())) {
    co_return co_await refuse(parser, caller_, std::move(*why));
  }
  if (parser.is_done()) take_time();
  co_return true;
}

Task<bool> Session::read_body(Parser& parser, const Request& request) {
  if (parser.is_done()) co_return true;
  const Caller& caller = request.caller;
  const std::size_t largest = is_stranger(caller) ? kLargestOfStrangers
                                                  : largest_body(request.method, request.path,
                                                                 house_->options.largest_body);
  if (parser.content_length().value_or(0) > largest) {
    co_return co_await refuse(parser, caller, bhttp::error::body_limit);
  }
  parser.body_limit(largest);
  if (is_late_) co_return co_await refuse(parser, caller, too_slow(house_->options.header_time));
  room_ = house_->bodies.take(guest_, parser.content_length().value_or(largest));
  if (!room_) co_return co_await refuse(parser, caller, no_room());
  if (beast::iequals(parser.get()[bhttp::field::expect], "100-continue")) {
    static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    const auto [status, size] = co_await asio::async_write(
        stream_, asio::buffer(kContinue.data(), kContinue.size()), kTuple);
    if (status) co_return false;
  }
  const auto [status, size] = co_await bhttp::async_read(stream_, buffer_, parser, kTuple);
  if (status) co_return co_await refuse(parser, caller, status);
  take_time();
  co_return true;
}

Task<bool> Session::refuse(const Parser& parser, const Caller& caller, ErrorStatus status) {
  std::optional<api::Problem> why =
      is_late_ ? too_slow(house_->options.header_time) : problem_of(status);
  if (!why) co_return false;
  co_return co_await refuse(parser, caller, std::move(*why));
}

Task<bool> Session::refuse(const Parser& parser, const Caller& caller, api::Problem why) {
  take_time();
  tell(parser, caller, why.status);
  Frame frame;
  frame.keep_alive = false;
  co_await write(problem_response(why), frame);
  co_return false;
}

void Session::tell(const Parser& parser, const Caller& caller, int status) const {
  const auto& message = parser.get();
  const std::string_view method = view_of(message.method_string());
  const std::string_view target = view_of(message.target());
  const bool looks = method.empty() || method == "GET" || method == "HEAD";
  if (looks || !house_->open || !house_->doors.answered) return;
  house_->doors.answered(caller, method, target.substr(0, target.find('?')), status, "");
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
  request.once = text_of(message["Idempotency-Key"]);
  request.last_event = text_of(message["Last-Event-ID"]);
  request.caller = caller_;
  return request;
}

}  // namespace tangram::http
