// See client.hpp. Messages are read and written with Beast, on a ClientSocket.
#include "http/client/client.hpp"

#include <cerrno>
#include <sys/eventfd.h>
#include <unistd.h>

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "api/problem.hpp"
#include "base/text.hpp"
#include "http/client/client_socket.hpp"
#include "http/client/sse_parser.hpp"
#include "http/logs/log_reader.hpp"

namespace tangram::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace bhttp = boost::beast::http;
using Status = boost::system::error_code;

constexpr std::uint64_t kMaxReply = std::uint64_t{256} << 20U;

std::unexpected<Error> unavailable(std::string message) {
  return std::unexpected(Error{ErrorCode::kUnavailable, std::move(message)});
}

ErrorCode code_of(int status) {
  if (status == 404) return ErrorCode::kNotFound;
  if (status == 429 || status == 503) return ErrorCode::kUnavailable;
  constexpr int kRefusals[] = {400, 405, 411, 413, 414, 415, 422, 431};
  for (const int refusal : kRefusals) {
    if (status == refusal) return ErrorCode::kInvalid;
  }
  return ErrorCode::kFailed;
}

// Parses the body of a reply.
Result<ClientReply> reply_of(unsigned code, beast::string_view type, const std::string& body) {
  const auto status = static_cast<int>(code);
  boost::json::value document;
  if (type.starts_with("text/")) {
    document = body;
  } else if (!body.empty()) {
    Status wrong;
    document = boost::json::parse(body, wrong);
    if (wrong)
      return failed(cat("invalid reply from tangramd: status ", status, ", body is not JSON"));
  }
  return ClientReply{status, std::move(document), {}};
}

}  // namespace

Result<ClientReply> check_status(Result<ClientReply> reply) {
  if (!reply || (reply->status >= 200 && reply->status < 300)) return reply;
  const auto problem = api::read_problem(reply->body);
  const bool has_detail = problem && !problem->detail.empty();
  return std::unexpected(
      Error{code_of(reply->status),
            has_detail ? problem->detail : cat("error ", reply->status, " from tangramd")});
}

namespace {

template <class Message>
Result<ClientReply> check_status(const Message& message) {
  return check_status(
      reply_of(message.result_int(), message[bhttp::field::content_type], message.body()));
}

// Returns the target of a Link header: </v1/jobs?before=7>; rel="next"
std::string next_in(beast::string_view link) {
  const std::size_t end = link.find(">; rel=\"next\"");
  if (!link.starts_with('<') || end == beast::string_view::npos) return "";
  return {link.data() + 1, end - 1};
}

}  // namespace

// The connection to the daemon; reconnects if it was closed between two requests.
class Client::Link {
 public:
  Link(std::string where, ClientOptions options)
      : where_(std::move(where)), options_(std::move(options)) {}
  ~Link() {
    if (stop_ >= 0) ::close(stop_);
  }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  Link(Link&&) = delete;
  Link& operator=(Link&&) = delete;

  Result<void> connect() {
    buffer_.clear();
    buffer_.reserve(std::size_t{64} << 10U);  // the size of one read
    auto made = ClientSocket::connect(where_, options_, stop_);
    if (!made) return std::unexpected(made.error());
    socket_ = std::move(*made);
    return {};
  }

  Result<void> send(std::string_view method, std::string_view target,
                    const std::optional<boost::json::value>& body,
                    std::chrono::milliseconds timeout, std::string_view idempotency_key = {}) {
    if (!socket_ || socket_->is_closed_by_peer()) {
      if (auto ok = connect(); !ok) return ok;
    }
    socket_->set_timeout(timeout);
    bhttp::request<bhttp::string_body> message;
    message.version(11);
    message.method_string({method.data(), method.size()});
    message.target({target.data(), target.size()});
    message.set(bhttp::field::host, host());
    if (!options_.token.empty()) {
      message.set(bhttp::field::authorization, cat("Bearer ", options_.token));
    }
    if (!idempotency_key.empty())
      message.set("Idempotency-Key",
                  beast::string_view(idempotency_key.data(), idempotency_key.size()));
    message.set(bhttp::field::user_agent, "tangram/" TANGRAM_VERSION);
    if (body) {
      message.set(bhttp::field::content_type, "application/json");
      message.body() = boost::json::serialize(*body);
    }
    message.prepare_payload();
    Status status;
    bhttp::write(*socket_, message, status);
    // A daemon that rejects a body closes the connection while it is sent; its reply can still be
    // read.
    const bool rejected = status.value() == EPIPE || status.value() == ECONNRESET;
    if (status && !rejected) return lost(status);
    return {};
  }

  template <class Parser>
  Result<void> receive(Parser& parser) {
    Status status;
    bhttp::read(*socket_, buffer_, parser, status);
    if (status) return lost(status);
    if (!parser.get().keep_alive()) socket_.reset();
    return {};
  }

  void abort() const {
    const std::uint64_t one = 1;
    static_cast<void>(!::write(stop_, &one, sizeof one));
  }

  // For streams: a job may write nothing for days.
  void disable_timeout() { socket_->set_timeout(std::chrono::milliseconds(0)); }
  // The next request opens a new connection.
  void disconnect() { socket_.reset(); }

 private:
  std::unexpected<Error> lost(const Status& status) {
    socket_.reset();
    if (status == system_status(ETIMEDOUT)) {
      return unavailable(cat("timeout waiting for tangramd at ", where_));
    }
    const bool ended = status == bhttp::error::end_of_stream ||
                       status == bhttp::error::partial_message || status == asio::error::eof;
    return unavailable(cat("connection to tangramd at ", where_, " lost: ",
                           ended ? std::string("closed by the server") : status.message()));
  }

  // The Host header: "node7:7443" for "https://node7:7443".
  [[nodiscard]] std::string host() const {
    const std::size_t slashes = where_.find("://");
    return slashes == std::string::npos ? "tangram" : where_.substr(slashes + 3);
  }

  std::string where_;
  ClientOptions options_;
  int stop_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  std::unique_ptr<ClientSocket> socket_;
  beast::flat_buffer buffer_;
};

Client::Client(std::unique_ptr<Link> link) : link_(std::move(link)) {}
Client::~Client() = default;
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;

Result<Client> Client::open(const std::string& where, const ClientOptions& options) {
  auto link = std::make_unique<Link>(where, options);
  if (auto ok = link->connect(); !ok) return std::unexpected(ok.error());
  return Client(std::move(link));
}

Result<ClientReply> Client::exchange(std::string_view method, std::string_view target,
                                     const std::optional<boost::json::value>& body,
                                     std::chrono::milliseconds timeout,
                                     std::string_view idempotency_key) {
  if (auto ok = link_->send(method, target, body, timeout, idempotency_key); !ok) {
    return std::unexpected(ok.error());
  }
  bhttp::response_parser<bhttp::string_body> parser;
  parser.body_limit(kMaxReply);
  parser.skip(method == "HEAD");
  if (auto ok = link_->receive(parser); !ok) return std::unexpected(ok.error());
  const auto& message = parser.get();
  auto reply = reply_of(message.result_int(), message[bhttp::field::content_type], message.body());
  if (reply) reply->next = next_in(message[bhttp::field::link]);
  return reply;
}

Result<ClientReply> Client::request(std::string_view method, std::string_view target,
                                    const std::optional<boost::json::value>& body,
                                    std::chrono::milliseconds timeout,
                                    std::string_view idempotency_key) {
  return check_status(exchange(method, target, body, timeout, idempotency_key));
}

Result<void> Client::stream(std::string_view target,
                            const std::function<bool(const LogChunk&)>& take) {
  if (auto ok = link_->send("GET", target, std::nullopt, kDefaultTimeout); !ok) return ok;
  bhttp::response_parser<bhttp::string_body> parser;
  parser.body_limit(boost::none);
  std::optional<LogPosition> at;
  bool gap = false;
  bool is_stopped = false;
  auto on_header = [&](std::uint64_t, beast::string_view text, Status& status) {
    bhttp::chunk_extensions extensions;
    extensions.parse(text, status);
    gap = false;
    for (const auto& [name, value] : extensions) {
      if (name == "at") at = parse_position({value.data(), value.size()});
      if (name == "gap") gap = true;
    }
  };
  auto on_body = [&](std::uint64_t, beast::string_view bytes, Status& status) {
    if (at) at->offset += bytes.size();
    const LogChunk piece{
        {bytes.data(), bytes.size()}, at ? to_text(*at) : "", std::exchange(gap, false)};
    if (!bytes.empty() && !take(piece)) {
      is_stopped = true;
      status = asio::error::operation_aborted;
    }
    return bytes.size();
  };
  parser.on_chunk_header(on_header);
  parser.on_chunk_body(on_body);
  link_->disable_timeout();
  const Result<void> read = link_->receive(parser);
  if (is_stopped) {
    link_->disconnect();
    return {};
  }
  if (!read) return read;
  if (const auto reply = check_status(parser.get()); !reply) return std::unexpected(reply.error());
  return {};
}

Result<void> Client::events(std::string_view target,
                            const std::function<bool(const ServerSentEvent&)>& take) {
  if (auto ok = link_->send("GET", target, std::nullopt, kDefaultTimeout); !ok) return ok;
  bhttp::response_parser<bhttp::string_body> parser;
  parser.body_limit(boost::none);
  SseParser stream(take);
  auto on_body = [&](std::uint64_t, beast::string_view bytes, Status& status) {
    if (!stream.feed({bytes.data(), bytes.size()})) status = asio::error::operation_aborted;
    return bytes.size();
  };
  parser.on_chunk_body(on_body);
  link_->disable_timeout();
  const Result<void> read = link_->receive(parser);
  if (stream.is_stopped()) {
    link_->disconnect();
    return {};
  }
  if (!read) return read;
  if (const auto reply = check_status(parser.get()); !reply) return std::unexpected(reply.error());
  return {};
}

void Client::abort() { link_->abort(); }

}  // namespace tangram::http
