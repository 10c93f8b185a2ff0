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

constexpr std::size_t kLargestBuffer = 80 * 1024;  // a header, and what is read at once of a body
constexpr std::size_t kSmallAnswer = 64 * 1024;    // for one of these there is always room

std::string guest_of(const Caller& caller) {
  return is_stranger(caller) ? "strangers" : cat("user ", caller.uid);
}

api::Problem no_room() {
  return problem(503, "too-many-answers",
                 "more answers wait for you, or for all together, than tangramd has room for; read "
                 "them, and ask again. If you asked for a change, it was made.");
}

template <class Body>
void set_header(bhttp::response<Body>& message, const Response& response) {
  message.set(bhttp::field::server, "tangramd");
  // Whoever comes too often, or at a bad time, may try again soon.
  if (response.status == 429 || response.status == 503) message.set("Retry-After", "1");
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
      clock_(stream_.get_executor()),
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

std::chrono::milliseconds Session::patience() const {
  const ServerOptions& options = house_->options;
  return is_stranger_ ? std::min(options.stranger_time, options.idle_time) : options.idle_time;
}

std::chrono::milliseconds Session::time_left() const {
  using std::chrono::milliseconds;
  if (!is_stranger_) return milliseconds::max();
  const auto stayed = std::chrono::duration_cast<milliseconds>(Timer::clock_type::now() - came_);
  return std::max<milliseconds>(house_->options.stranger_stay - stayed, milliseconds(0));
}

bool Session::is_to_leave() const {
  const bool often = is_stranger_ && requests_ >= house_->options.stranger_requests;
  return often || time_left().count() == 0;
}

std::optional<Response> Session::welcome() {
  is_stranger_ = false;
  const std::string why = welcome_ ? welcome_() : "";
  if (why.empty()) return std::nullopt;
  return problem_response(problem(503, "too-many-connections", why));
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
  refused = refusal(house_->doors, request);
  if (!refused && request.caller.is_unsettled) refused = unsettled();
  co_return refused;
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
  ++requests_;
  const auto& message = parser.get();
  Frame frame{message.version(), message.keep_alive(), message.method() == bhttp::verb::head};
  auto request = request_of(parser);
  std::optional<Response> refused;
  if (request) {
    refused = co_await await_admission(*request);
  } else {
    refused = problem_response(problem(400, "bad-request", request.error().message));
    tell(parser, caller_, refused->status);
  }
  if (is_to_leave()) frame.keep_alive = false;
  if (refused) {
    take_time();
    const bool stays = refused->status != 503;
    frame.keep_alive =
        frame.keep_alive && stays && parser.is_done();  // else a body is left that nobody reads
    co_return co_await write(std::move(*refused), frame);
  }
  guest_ = guest_of(request->caller);
  read = co_await read_body(parser, *request);
  if (!read) co_return false;
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
  std::shared_ptr<void> room;  // while he does not read it
  if (const std::size_t size = response.body.size(); size > kSmallAnswer && !frame.head) {
    room = house_->answers.take(guest_, std::min(size, house_->options.most_answer_bytes_each));
    if (!room) response = problem_response(no_room());
  }
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
