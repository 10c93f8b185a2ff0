// See client.hpp. Beast reads and writes the messages; the socket is ours, so that every wait has a
// deadline and can be ended from another thread.
#include "http/client.hpp"

#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <system_error>
#include <unistd.h>

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "api/problem.hpp"
#include "base/text.hpp"
#include "http/log_reader.hpp"

namespace tangram::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace bhttp = boost::beast::http;
using Clock = std::chrono::steady_clock;
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

// The reply as it is meant: what the daemon refuses is an Error.
Result<ClientReply> meaning_of(int status, const std::string& body) {
  boost::json::value document;
  if (!body.empty()) {
    Status wrong;
    document = boost::json::parse(body, wrong);
    if (wrong) return failed(cat("the daemon answered ", status, " with what is not JSON."));
  }
  if (status >= 200 && status < 300) return ClientReply{status, std::move(document)};
  const auto problem = api::read_problem(document);
  if (!problem || problem->detail.empty()) {
    return std::unexpected(Error{code_of(status), cat("the daemon answered ", status, ".")});
  }
  return std::unexpected(Error{code_of(status), problem->detail});
}

// A connected socket as Beast wants it.
class Socket {
 public:
  Socket(int fd, int stop) : fd_(fd), stop_(stop) {}
  ~Socket() {
    if (fd_ >= 0) ::close(fd_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  Socket(Socket&&) = delete;
  Socket& operator=(Socket&&) = delete;

  // No deadline for a patience of zero.
  void set_patience(std::chrono::milliseconds patience) { patience_ = patience; }
  [[nodiscard]] bool is_closed_there() const {
    char byte = 0;
    const ssize_t count = ::recv(fd_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return count >= 0 || (errno != EAGAIN && errno != EINTR);
  }

  template <class Buffers>
  std::size_t read_some(const Buffers& buffers, Status& status) {
    const asio::mutable_buffer first = *asio::buffer_sequence_begin(buffers);
    return transfer(POLLIN, status,
                    [&] { return ::recv(fd_, first.data(), first.size(), MSG_DONTWAIT); });
  }
  template <class Buffers>
  std::size_t write_some(const Buffers& buffers, Status& status) {
    for (auto at = asio::buffer_sequence_begin(buffers); at != asio::buffer_sequence_end(buffers);
         ++at) {
      const asio::const_buffer part = *at;
      if (part.size() == 0) continue;
      return transfer(POLLOUT, status, [&] {
        return ::send(fd_, part.data(), part.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      });
    }
    status = {};
    return 0;
  }
  template <class Buffers>
  std::size_t read_some(const Buffers& buffers) {
    Status status;
    const std::size_t size = read_some(buffers, status);
    if (status) throw boost::system::system_error(status);
    return size;
  }
  template <class Buffers>
  std::size_t write_some(const Buffers& buffers) {
    Status status;
    const std::size_t size = write_some(buffers, status);
    if (status) throw boost::system::system_error(status);
    return size;
  }

 private:
  template <class Attempt>
  std::size_t transfer(short events, Status& status, const Attempt& attempt) {
    status = {};
    const auto deadline = Clock::now() + patience_;
    while (true) {
      const ssize_t count = attempt();
      if (count > 0) return static_cast<std::size_t>(count);
      if (count == 0) {
        status = asio::error::eof;
        return 0;
      }
      if (errno != EAGAIN && errno != EINTR) {
        status = system_status(errno);
        return 0;
      }
      if (const int why = wait(events, deadline)) {
        status = system_status(why);
        return 0;
      }
    }
  }
  [[nodiscard]] int wait(short events, Clock::time_point deadline) const {
    pollfd both[] = {{fd_, events, 0}, {stop_, POLLIN, 0}};
    int left = -1;
    if (patience_.count() > 0) {
      const auto rest =
          std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
      if (rest <= 0) return ETIMEDOUT;
      left = static_cast<int>(std::min<std::int64_t>(rest, 3'600'000));
    }
    if (::poll(both, 2, left) < 0 && errno != EINTR) return errno;
    return both[1].revents != 0 ? ECANCELED : 0;
  }

  int fd_;
  int stop_;
  std::chrono::milliseconds patience_{0};
};

}  // namespace

// The connection to one daemon, made again when it was closed between two requests.
class Client::Line {
 public:
  explicit Line(std::string path) : path_(std::move(path)) {}
  ~Line() {
    if (stop_ >= 0) ::close(stop_);
  }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;
  Line(Line&&) = delete;
  Line& operator=(Line&&) = delete;

  Result<void> connect() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path_.empty() || path_.size() >= sizeof address.sun_path) {
      return invalid(cat("the path of the daemon's socket, ", quoted(path_), ", must have 1 to ",
                         sizeof address.sun_path - 1, " bytes."));
    }
    std::memcpy(address.sun_path, path_.data(), path_.size());
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socket_ = std::make_unique<Socket>(fd, stop_);
    buffer_.clear();
    buffer_.reserve(std::size_t{64} << 10U);  // it decides how much is read at once
    int status = 0;
    do {
      status = ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    } while (status != 0 && errno == EINTR);
    if (fd >= 0 && status == 0) return {};
    const std::string why = std::generic_category().message(errno);
    socket_.reset();
    return unavailable(cat("cannot reach tangramd at ", path_, ": ", why,
                           ". Is it running? Start it with `tangramd`, or say where it listens "
                           "with TANGRAM_SOCKET or --socket."));
  }

  Result<void> send(std::string_view method, std::string_view target,
                    const std::optional<boost::json::value>& body,
                    std::chrono::milliseconds patience) {
    if (!socket_ || socket_->is_closed_there()) {
      if (auto ok = connect(); !ok) return ok;
    }
    socket_->set_patience(patience);
    bhttp::request<bhttp::string_body> message;
    message.version(11);
    message.method_string({method.data(), method.size()});
    message.target({target.data(), target.size()});
    message.set(bhttp::field::host, "tangram");
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
      return unavailable(cat("tangramd at ", path_, " does not answer."));
    }
    const bool ended = status == bhttp::error::end_of_stream ||
                       status == bhttp::error::partial_message || status == asio::error::eof;
    return unavailable(cat("the connection to tangramd at ", path_, " was lost: ",
                           ended ? std::string("it was closed") : status.message(), "."));
  }

  std::string path_;
  int stop_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  std::unique_ptr<Socket> socket_;
  beast::flat_buffer buffer_;
};

Client::Client(std::unique_ptr<Line> line) : line_(std::move(line)) {}
Client::~Client() = default;
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;

Result<Client> Client::open(const std::string& socket) {
  auto line = std::make_unique<Line>(socket);
  if (auto ok = line->connect(); !ok) return std::unexpected(ok.error());
  return Client(std::move(line));
}

Result<ClientReply> Client::request(std::string_view method, std::string_view target,
                                    const std::optional<boost::json::value>& body,
                                    std::chrono::milliseconds patience) {
  if (auto ok = line_->send(method, target, body, patience); !ok) {
    return std::unexpected(ok.error());
  }
  bhttp::response_parser<bhttp::string_body> parser;
  parser.body_limit(kLargestReply);
  parser.skip(method == "HEAD");
  if (auto ok = line_->receive(parser); !ok) return std::unexpected(ok.error());
  return meaning_of(parser.get().result_int(), parser.get().body());
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
  const auto reply = meaning_of(parser.get().result_int(), parser.get().body());
  if (!reply) return std::unexpected(reply.error());
  return {};
}

void Client::abort() { line_->abort(); }

}  // namespace tangram::http
