// See client.hpp. Beast reads and writes the messages; the socket is ours (client_socket.hpp).
#include "http/client.hpp"

#include <cerrno>
#include <sys/eventfd.h>
#include <unistd.h>

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "api/problem.hpp"
#include "base/text.hpp"
#include "http/client_socket.hpp"
#include "http/event_stream.hpp"
#include "http/log_reader.hpp"

namespace tangram::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace bhttp = boost::beast::http;
using Status = boost::system::error_code;

constexpr std::uint64_t kLargestReply = std::uint64_t{256} << 20U;

std::unexpected<Error> unavailable(std::string message) {
  return std::unexpected(Error{ErrorCode::kUnavailable, std::move(message)});
}

Status system_status(int number) { return {number, boost::system::system_category()}; }

ErrorCode code_of(int status) {
  if (status == 404) return ErrorCode::kNotFound;
  if (status == 429 || status == 503) return ErrorCode::kUnavailable;
  constexpr int kRefusals[] = {400, 405, 411, 413, 414, 415, 422, 431};
  for (const int refusal : kRefusals) {
    if (status == refusal) return ErrorCode::kInvalid;
  }
  return ErrorCode::kFailed;
}

// The reply as it came.
Result<ClientReply> reply_of(unsigned code, beast::string_view type, const std::string& body) {
  const auto status = static_cast<int>(code);
  boost::json::value document;
  if (type.starts_with("text/")) {
    document = body;
  } else if (!body.empty()) {
    Status wrong;
    document = boost::json::parse(body, wrong);
    if (wrong) return failed(cat("the daemon answered ", status, " with what is not JSON."));
  }
  return ClientReply{status, std::move(document), {}};
}

}  // namespace

Result<ClientReply> meaning_of(Result<ClientReply> reply) {
  if (!reply || (reply->status >= 200 && reply->status < 300)) return reply;
  const auto problem = api::read_problem(reply->body);
  const bool told = problem && !problem->detail.empty();
  return std::unexpected(
      Error{code_of(reply->status),
            told ? problem->detail : cat("the daemon answered ", reply->status, ".")});
}

namespace {

template <class Message>
Result<ClientReply> meaning_of(const Message& message) {
  return meaning_of(
      reply_of(message.result_int(), message[bhttp::field::content_type], message.body()));
}

// Of </v1/jobs?before=7>; rel="next"
std::string next_in(beast::string_view link) {
  const std::size_t end = link.find(">; rel=\"next\"");
  if (!link.starts_with('<') || end == beast::string_view::npos) return "";
  return {link.data() + 1, end - 1};
}

}  // namespace

// The connection to one daemon, made again when it was closed between two requests.
class Client::Line {
 public:
  Line(std::string where, ClientOptions options)
      : where_(std::move(where)), options_(std::move(options)) {}
  ~Line() {
    if (stop_ >= 0) ::close(stop_);
  }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;
  Line(Line&&) = delete;
  Line& operator=(Line&&) = delete;

  Result<void> connect() {
    buffer_.clear();
    buffer_.reserve(std::size_t{64} << 10U);  // it decides how much is read at once
    auto made = ClientSocket::connect(where_, options_, stop_);
    if (!made) return std::unexpected(made.error());
    socket_ = std::move(*made);
    return {};
  }

  Result<void> send(std::string_view method, std::string_view target,
                    const std::optional<boost::json::value>& body,
                    std::chrono::milliseconds patience, std::string_view once = {}) {
    if (!socket_ || socket_->is_closed_there()) {
      if (auto ok = connect(); !ok) return ok;
    }
    socket_->set_patience(patience);
    bhttp::request<bhttp::string_body> message;
    message.version(11);
    message.method_string({method.data(), method.size()});
    message.target({target.data(), target.size()});
    message.set(bhttp::field::host, host());
    if (!options_.token.empty()) {
      message.set(bhttp::field::authorization, cat("Bearer ", options_.token));
    }
    if (!once.empty()) message.set("Idempotency-Key", beast::string_view(once.data(), once.size()));
    message.set(bhttp::field::user_agent, "tangram/" TANGRAM_VERSION);
    if (body) {
      message.set(bhttp::field::content_type, "application/json");
      message.body() = boost::json::serialize(*body);
    }
    message.prepare_payload();
    Status status;
    bhttp::write(*socket_, message, status);
    // A daemon that refuses a body closes while it is sent; its answer can be read all the same.
    const bool refused = status.value() == EPIPE || status.value() == ECONNRESET;
    if (status && !refused) return lost(status);
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

  // A job may be silent for days.
  void be_patient() { socket_->set_patience(std::chrono::milliseconds(0)); }
  // After this the next request makes a new connection.
  void hang_up() { socket_.reset(); }

 private:
  std::unexpected<Error> lost(const Status& status) {
    socket_.reset();
    if (status == system_status(ETIMEDOUT)) {
      return unavailable(cat("tangramd at ", where_, " does not answer."));
    }
    const bool ended = status == bhttp::error::end_of_stream ||
                       status == bhttp::error::partial_message || status == asio::error::eof;
    return unavailable(cat("the connection to tangramd at ", where_, " was lost: ",
                           ended ? std::string("it was closed") : status.message(), "."));
  }

  // Of "https://node7:7443" what stands after the slashes.
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

Client::Client(std::unique_ptr<Line> line) : line_(std::move(line)) {}
Client::~Client() = default;
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;

Result<Client> Client::open(const std::string& where, const ClientOptions& options) {
  auto line = std::make_unique<Line>(where, options);
  if (auto ok = line->connect(); !ok) return std::unexpected(ok.error());
  return Client(std::move(line));
}

Result<ClientReply> Client::exchange(std::string_view method, std::string_view target,
                                     const std::optional<boost::json::value>& body,
                                     std::chrono::milliseconds patience, std::string_view once) {
  if (auto ok = line_->send(method, target, body, patience, once); !ok) {
    return std::unexpected(ok.error());
  }
  bhttp::response_parser<bhttp::string_body> parser;
  parser.body_limit(kLargestReply);
  parser.skip(method == "HEAD");
  if (auto ok = line_->receive(parser); !ok) return std::unexpected(ok.error());
  const auto& message = parser.get();
  auto reply = reply_of(message.result_int(), message[bhttp::field::content_type], message.body());
  if (reply) reply->next = next_in(message[bhttp::field::link]);
  return reply;
}

Result<ClientReply> Client::request(std::string_view method, std::string_view target,
                                    const std::optional<boost::json::value>& body,
                                    std::chrono::milliseconds patience, std::string_view once) {
  return meaning_of(exchange(method, target, body, patience, once));
}

Result<void> Client::stream(std::string_view target,
                            const std::function<bool(const LogPiece&)>& take) {
  if (auto ok = line_->send("GET", target, std::nullopt, kPatience); !ok) return ok;
  bhttp::response_parser<bhttp::string_body> parser;
  parser.body_limit(boost::none);
  std::optional<LogPosition> at;
  bool gap = false;
  bool enough = false;
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
    const LogPiece piece{
        {bytes.data(), bytes.size()}, at ? to_text(*at) : "", std::exchange(gap, false)};
    if (!bytes.empty() && !take(piece)) {
      enough = true;
      status = asio::error::operation_aborted;
    }
    return bytes.size();
  };
  parser.on_chunk_header(on_header);
  parser.on_chunk_body(on_body);
  line_->be_patient();
  const Result<void> read = line_->receive(parser);
  if (enough) {
    line_->hang_up();
    return {};
  }
  if (!read) return read;
  if (const auto reply = meaning_of(parser.get()); !reply) return std::unexpected(reply.error());
  return {};
}

Result<void> Client::events(std::string_view target,
                            const std::function<bool(const EventPiece&)>& take) {
  if (auto ok = line_->send("GET", target, std::nullopt, kPatience); !ok) return ok;
  bhttp::response_parser<bhttp::string_body> parser;
  parser.body_limit(boost::none);
  EventStream stream(take);
  auto on_body = [&](std::uint64_t, beast::string_view bytes, Status& status) {
    if (!stream.feed({bytes.data(), bytes.size()})) status = asio::error::operation_aborted;
    return bytes.size();
  };
  parser.on_chunk_body(on_body);
  line_->be_patient();
  const Result<void> read = line_->receive(parser);
  if (stream.enough()) {
    line_->hang_up();
    return {};
  }
  if (!read) return read;
  if (const auto reply = meaning_of(parser.get()); !reply) return std::unexpected(reply.error());
  return {};
}

void Client::abort() { line_->abort(); }

}  // namespace tangram::http
