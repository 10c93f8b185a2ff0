// See connection.hpp: requests and their responses.
#include "http/server/connection.hpp"

#include <algorithm>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/write.hpp>

#include "base/text.hpp"
#include "http/routes/identity.hpp"
#include "http/routes/routes.hpp"
#include "http/server/session.hpp"

namespace tangram::http {
namespace {

namespace bhttp = beast::http;

constexpr std::size_t kMaxBuffer = std::size_t{80} * 1024;  // a header, and one read of a body
constexpr std::size_t kSmallResponse =
    std::size_t{64} * 1024;  // does not count against the byte quota

std::string client_key_of(const Caller& caller) {
  return is_unauthenticated(caller) ? kUnauthenticatedKey : cat("user ", caller.uid);
}

api::Problem response_quota_exceeded() {
  return problem(503, "too-many-answers",
                 "too many unread responses, yours or in total: read them and try again. If the "
                 "request was a change, it was applied.");
}

template <class Body>
void set_header(bhttp::response<Body>& message, const Response& response) {
  message.set(bhttp::field::server, "tangramd");
  // Rate limits, quotas and temporary failures: the client may retry soon.
  if (response.status == 429 || response.status == 503) message.set("Retry-After", "1");
  if (!response.type.empty()) message.set(bhttp::field::content_type, response.type);
  if (response.type == kProblemType || response.type == kJsonType) {
    message.set(bhttp::field::cache_control, "no-store");
  }
  for (const auto& [name, value] : response.headers) message.set(name, value);
}

}  // namespace

Session::Session(int descriptor, const Caller& caller, std::shared_ptr<ServerContext> context,
                 std::function<std::string()> promote)
    : stream_(context->loop.get_executor()),
      buffer_(kMaxBuffer),
      caller_(caller),
      is_unauthenticated_(!caller.address.empty()),
      promote_(std::move(promote)),
      context_(std::move(context)),
      request_timer_(stream_.get_executor()),
      number_(context_->connection_count++) {
  stream_.socket().assign(asio::local::stream_protocol(), descriptor);
}

void Session::close() {
  stop_waiting();
  stream_.close();
}

Task<void> Session::run() {
  bool more = context_->is_open;
  while (more) more = co_await serve_one();
  stop_waiting();
  stream_.close();
}

std::chrono::milliseconds Session::idle_timeout() const {
  const ServerOptions& options = context_->options;
  return is_unauthenticated_ ? std::min(options.unauthenticated_idle_timeout, options.idle_timeout)
                             : options.idle_timeout;
}

std::chrono::milliseconds Session::lifetime_left() const {
  using std::chrono::milliseconds;
  if (!is_unauthenticated_) return milliseconds::max();
  const auto age =
      std::chrono::duration_cast<milliseconds>(Timer::clock_type::now() - accepted_at_);
  return std::max<milliseconds>(context_->options.unauthenticated_lifetime - age, milliseconds(0));
}

bool Session::must_close() const {
  const bool is_used_up =
      is_unauthenticated_ && requests_ >= context_->options.unauthenticated_requests;
  return is_used_up || lifetime_left().count() == 0;
}

std::optional<Response> Session::promote() {
  is_unauthenticated_ = false;
  const std::string why = promote_ ? promote_() : "";
  if (why.empty()) return std::nullopt;
  return problem_response(problem(503, "too-many-connections", why));
}

Task<std::optional<Response>> Session::await_authorization(Request& request) {
  const Caller peer = request.caller;
  std::optional<Response> rejection = check_access(context_->handlers, request);
  if (rejection) co_return rejection;
  if (is_unauthenticated_ && request.caller.token) rejection = promote();
  if (rejection) co_return rejection;
  if (!request.is_public) co_await await_identity(request.caller);
  if (!context_->is_open || !request.caller.token) co_return rejection;
  request.caller = peer;  // authenticate again: now the user of the token is known
  rejection = check_access(context_->handlers, request);
  if (!rejection && request.caller.identity_pending) rejection = identity_unavailable();
  co_return rejection;
}

Task<bool> Session::serve_one() {
  body_quota_.reset();
  const bool begun = co_await await_request();
  if (!begun) co_return false;
  Parser parser;
  parser.header_limit(kMaxHeaderSize);
  parser.body_limit(context_->options.max_body_size);
  bool read = co_await read_header(parser);
  if (!read || !context_->is_open) co_return false;
  ++requests_;
  const auto& message = parser.get();
  Frame frame{message.version(), message.keep_alive(), message.method() == bhttp::verb::head};
  auto request = request_of(parser);
  std::optional<Response> rejection;
  if (request) {
    rejection = co_await await_authorization(*request);
  } else {
    rejection = problem_response(problem(400, "bad-request", request.error().message));
    audit(parser, caller_, rejection->status);
  }
  if (must_close()) frame.keep_alive = false;
  if (rejection) {
    stop_request_timer();
    const bool stays = rejection->status != 503;
    frame.keep_alive =
        frame.keep_alive && stays && parser.is_done();  // an unread body would be left
    co_return co_await write(std::move(*rejection), frame);
  }
  client_key_ = client_key_of(request->caller);
  read = co_await read_body(parser, *request);
  if (!read) co_return false;
  if (!context_->is_open) co_return false;
  co_await await_durability(*request);
  if (!context_->is_open) co_return false;
  request->body = std::move(parser.get().body());
  Outcome outcome = answer(context_->handlers, *request);
  request->body = std::string();  // frees the memory: the response may take long
  body_quota_.reset();
  co_return co_await execute(std::move(outcome), frame);
}

Task<bool> Session::execute(Outcome outcome, Frame frame) {
  if (LogStreamRequest* request = std::get_if<LogStreamRequest>(&outcome)) {
    co_return co_await write_logs(std::move(*request), frame);
  }
  if (EventStreamRequest* request = std::get_if<EventStreamRequest>(&outcome)) {
    co_return co_await write_events(std::move(*request), frame);
  }
  if (DeferredResponse* deferred = std::get_if<DeferredResponse>(&outcome)) {
    std::optional<Response> response = co_await await_response(std::move(*deferred));
    if (!response) co_return false;
    co_return co_await write(std::move(*response), frame);
  }
  co_return co_await write(std::move(std::get<Response>(outcome)), frame);
}

Task<bool> Session::write(Response response, Frame frame) {
  std::shared_ptr<void> quota;  // held until the client has read the response
  if (const std::size_t size = response.body.size(); size > kSmallResponse && !frame.head) {
    quota = context_->response_bytes.try_acquire(
        client_key_, std::min(size, context_->options.max_response_bytes_each));
    if (!quota) response = problem_response(response_quota_exceeded());
  }
  stream_.expires_after(idle_timeout());
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
                                  std::shared_ptr<ServerContext> context, ConnectionHooks hooks) {
  auto& loop = context->loop;
  auto session =
      std::make_shared<Session>(descriptor, caller, std::move(context), std::move(hooks.promote));
  // An exception closes this connection only.
  asio::co_spawn(loop, session->run(),
                 [session, on_closed = std::move(hooks.on_closed)](const std::exception_ptr&) {
                   session->close();
                   on_closed();
                 });
  return session;
}

}  // namespace tangram::http
