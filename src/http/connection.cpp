// See connection.hpp: requests and their answers.
#include "http/connection.hpp"

#include <algorithm>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/write.hpp>

#include "base/text.hpp"
#include "http/identity.hpp"
#include "http/routes.hpp"
#include "http/session.hpp"

namespace tangram::http {
namespace {

namespace bhttp = beast::http;

constexpr std::uint32_t kLargestHeader = 8 * 1024;
constexpr std::size_t kLargestBuffer = 80 * 1024;  // a header, and what is read at once of a body
constexpr std::size_t kFirstRead = 4 * 1024;
constexpr std::size_t kLargestOfStrangers = 1024;  // they can ask nothing that needs a body

std::string_view view_of(beast::string_view text) { return {text.data(), text.size()}; }
std::string text_of(beast::string_view text) { return {text.data(), text.size()}; }

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
  return problem(400, "bad-request", cat("this is not HTTP/1.1: ", status.message(), "."));
}

// What Beast lets pass, and what two programs in a row could understand differently, so that one
// of them takes part of a body for a request.
template <class Fields>
std::optional<api::Problem> ambiguity_of(const Fields& header) {
  const std::size_t lengths = header.count(bhttp::field::content_length);
  const std::size_t encodings = header.count(bhttp::field::transfer_encoding);
  if (lengths + encodings > 1) {
    return problem(400, "bad-request", "the length of the body is given more than once.");
  }
  const std::string_view length = view_of(header[bhttp::field::content_length]);
  if (length.find_first_not_of("0123456789") != std::string_view::npos) {
    return problem(400, "bad-request", "Content-Length must be a number.");
  }
  if (encodings > 0 && !beast::iequals(header[bhttp::field::transfer_encoding], "chunked")) {
    return problem(400, "bad-request", "the only Transfer-Encoding that is read is chunked.");
  }
  if (header.version() == 11 && header.count(bhttp::field::host) != 1) {
    return problem(400, "bad-request", "HTTP/1.1 needs one Host header.");
  }
  if (header.count(bhttp::field::authorization) > 1) {
    return problem(400, "bad-request", "there is more than one Authorization header.");
  }
  return std::nullopt;
}

api::Problem no_room() {
  return problem(503, "too-many-bodies",
                 "you, or all together, send more at a time than tangramd has room for; try again "
                 "in a moment.");
}

template <class Body>
void set_header(bhttp::response<Body>& message, const Response& response) {
  message.set(bhttp::field::server, "tangramd");
  if (!response.type.empty()) message.set(bhttp::field::content_type, response.type);
  if (response.type == kProblemType || response.type == kJsonType) {
    message.set(bhttp::field::cache_control, "no-store");
  }
  for (const auto& [name, value] : response.headers) message.set(name, value);
}

}  // namespace

Session::Session(int descriptor, const Caller& caller, std::shared_ptr<House> house,
                 std::function<std::string()> welcome)
    : stream_(house->loop.get_executor()),
      buffer_(kLargestBuffer),
      caller_(caller),
      is_stranger_(!caller.address.empty()),
      welcome_(std::move(welcome)),
      house_(std::move(house)),
      number_(house_->connections++) {
  stream_.socket().assign(asio::local::stream_protocol(), descriptor);
}

void Session::end() {
  stop_waiting();
  stream_.close();
}

Task<void> Session::run() {
  bool more = house_->open;
  while (more) more = co_await serve_one();
  stop_waiting();
  stream_.close();
}

std::chrono::seconds Session::patience() const {
  const ServerOptions& options = house_->options;
  return is_stranger_ ? std::min(options.stranger_time, options.idle_time) : options.idle_time;
}

// Between requests a client may be idle for long; once one has begun it must hurry.
Task<bool> Session::await_request() {
  if (buffer_.size() > 0) co_return true;
  stream_.expires_after(patience());
  const auto [status, size] = co_await stream_.async_read_some(buffer_.prepare(kFirstRead), kTuple);
  if (status) co_return false;
  buffer_.commit(size);
  co_return true;
}

Task<bool> Session::read_header(Parser& parser) {
  stream_.expires_after(house_->options.header_time);  // for all of the request
  const auto [status, size] = co_await bhttp::async_read_header(stream_, buffer_, parser, kTuple);
  if (status) co_return co_await refuse(status);
  if (auto why = ambiguity_of(parser.get())) co_return co_await refuse(std::move(*why));
  co_return true;
}

Task<bool> Session::read_body(Parser& parser, const Request& request) {
  const auto& header = parser.get();
  const std::size_t largest =
      is_stranger(request.caller)
          ? kLargestOfStrangers
          : largest_body(view_of(header.method_string()), view_of(header.target()),
                         house_->options.largest_body);
  if (parser.content_length().value_or(0) > largest) {
    co_return co_await refuse(bhttp::error::body_limit);
  }
  parser.body_limit(largest);
  if (parser.is_done()) co_return true;
  room_ = room_for(request.caller, parser.content_length().value_or(largest));
  if (!room_) co_return co_await refuse(no_room());
  if (beast::iequals(header[bhttp::field::expect], "100-continue")) {
    static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    const auto [status, size] = co_await asio::async_write(
        stream_, asio::buffer(kContinue.data(), kContinue.size()), kTuple);
    if (status) co_return false;
  }
  const auto [status, size] = co_await bhttp::async_read(stream_, buffer_, parser, kTuple);
  if (status) co_return co_await refuse(status);
  co_return true;
}

std::shared_ptr<void> Session::room_for(const Caller& caller, std::size_t bytes) const {
  return house_->bodies.take(is_stranger(caller) ? "strangers" : cat("user ", caller.uid), bytes);
}

std::optional<Response> Session::welcome() {
  is_stranger_ = false;
  const std::string why = welcome_ ? welcome_() : "";
  if (why.empty()) return std::nullopt;
  Response response = problem_response(problem(503, "too-many-connections", why));
  response.headers.emplace_back("Retry-After", "1");
  return response;
}

Task<std::optional<Response>> Session::await_admission(Request& request) {
  const Caller came = request.caller;
  std::optional<Response> refused = refusal(house_->doors, request);
  if (refused) co_return refused;
  if (is_stranger_ && request.caller.token) refused = welcome();
  if (refused) co_return refused;
  if (!request.is_for_all) co_await await_introduction(request.caller);
  if (!house_->open || !request.caller.token) co_return refused;
  request.caller = came;  // what a token is good for depends on who its user is
  co_return refusal(house_->doors, request);
}

Task<bool> Session::refuse(ErrorStatus status) {
  std::optional<api::Problem> problem = problem_of(status);
  if (!problem) co_return false;
  co_return co_await refuse(std::move(*problem));
}

Task<bool> Session::refuse(api::Problem why) {
  Frame frame;
  frame.keep_alive = false;
  Response response = problem_response(why);
  if (why.status == 503) response.headers.emplace_back("Retry-After", "1");
  co_await write(std::move(response), frame);
  co_return false;
}

Result<Request> Session::request_of(Parser& parser) const {
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

Task<bool> Session::serve_one() {
  room_.reset();
  const bool begun = co_await await_request();
  if (!begun) co_return false;
  Parser parser;
  parser.header_limit(kLargestHeader);
  parser.body_limit(house_->options.largest_body);
  bool read = co_await read_header(parser);
  if (!read || !house_->open) co_return false;
  const auto& message = parser.get();
  Frame frame{message.version(), message.keep_alive(), message.method() == bhttp::verb::head};
  auto request = request_of(parser);
  std::optional<Response> refused;
  if (request) {
    refused = co_await await_admission(*request);
  } else {
    refused = problem_response(problem(400, "bad-request", request.error().message));
  }
  if (refused) {
    const bool stays = refused->status != 503;
    frame.keep_alive =
        frame.keep_alive && stays && parser.is_done();  // else a body is left that nobody reads
    co_return co_await write(std::move(*refused), frame);
  }
  read = co_await read_body(parser, *request);
  if (!read) co_return false;
  stream_.expires_never();
  if (!house_->open) co_return false;
  co_await await_disk(*request);
  if (!house_->open) co_return false;
  request->body = std::move(parser.get().body());
  Outcome outcome = answer(house_->doors, *request);
  request->body = std::string();  // an answer may take long
  room_.reset();
  co_return co_await carry_out(std::move(outcome), frame);
}

Task<bool> Session::carry_out(Outcome outcome, Frame frame) {
  if (LogWish* wish = std::get_if<LogWish>(&outcome)) {
    co_return co_await write_logs(std::move(*wish), frame);
  }
  if (EventWish* wish = std::get_if<EventWish>(&outcome)) {
    co_return co_await write_events(std::move(*wish), frame);
  }
  if (Later* later = std::get_if<Later>(&outcome)) {
    std::optional<Response> response = co_await await_answer(std::move(*later));
    if (!response) co_return false;
    co_return co_await write(std::move(*response), frame);
  }
  co_return co_await write(std::move(std::get<Response>(outcome)), frame);
}

Task<bool> Session::write(Response response, Frame frame) {
  stream_.expires_after(patience());
  ErrorStatus status;
  std::size_t size = 0;
  if (frame.head || response.status == 204) {
    bhttp::response<bhttp::empty_body> message(static_cast<bhttp::status>(response.status),
                                               frame.version);
    set_header(message, response);
    message.keep_alive(frame.keep_alive);
    if (response.status != 204) message.content_length(response.body.size());
    std::tie(status, size) = co_await bhttp::async_write(stream_, message, kTuple);
  } else {
    bhttp::response<bhttp::string_body> message(static_cast<bhttp::status>(response.status),
                                                frame.version);
    set_header(message, response);
    message.keep_alive(frame.keep_alive);
    message.body() = std::move(response.body);
    message.prepare_payload();
    std::tie(status, size) = co_await bhttp::async_write(stream_, message, kTuple);
  }
  co_return !status && frame.keep_alive;
}

std::shared_ptr<Connection> serve(int descriptor, const Caller& caller,
                                  std::shared_ptr<House> house, Hooks hooks) {
  auto& loop = house->loop;
  auto session =
      std::make_shared<Session>(descriptor, caller, std::move(house), std::move(hooks.welcome));
  // What goes wrong inside ends this connection and nothing else.
  asio::co_spawn(loop, session->run(),
                 [session, over = std::move(hooks.over)](const std::exception_ptr&) {
                   session->end();
                   over();
                 });
  return session;
}

}  // namespace tangram::http
