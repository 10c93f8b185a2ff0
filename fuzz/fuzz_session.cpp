// Fuzzes a whole HTTP session of the endpoint: bytes of a client and of a replica, each in pieces,
// through real sockets. Nothing crashes or hangs, and the replica receives a sequence of valid
// requests of which only the last may be truncated (request smuggling).
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <netinet/in.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>

#include "endpoint/net/socket.hpp"
#include "endpoint/relay/relay_context.hpp"
#include "plain_http.hpp"

namespace {

namespace endpoint = tangram::endpoint;

constexpr std::string_view kStart = "HTTP/1.1 ";

void require(bool holds) {
  if (!holds) std::abort();
}

// The listening socket of a replica.
class Replica {
 public:
  Replica() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    require(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) == 0);
    require(::listen(listener_, 16) == 0);
    require(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
    port = ntohs(address.sin_port);
  }
  int accept() const { return ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK); }

  std::uint16_t port = 0;

 private:
  int listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
};

// One end of a connection, which sends its bytes piece by piece.
class Side {
 public:
  explicit Side(std::string_view bytes) : bytes_(bytes) {}
  ~Side() { reset(); }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  void use(int fd) { fd_ = fd; }
  [[nodiscard]] bool is_used() const { return fd_ >= 0; }
  // Receives and sends one piece each. True: there was progress.
  bool step(std::size_t piece) {
    if (fd_ < 0) return false;
    std::array<char, 4'096> buffer{};
    const ssize_t got = ::recv(fd_, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got > 0) received.append(buffer.data(), static_cast<std::size_t>(got));
    const ssize_t sent =
        ::send(fd_, bytes_.data(), std::min(piece, bytes_.size()), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) bytes_.remove_prefix(static_cast<std::size_t>(sent));
    if (bytes_.empty() && !is_half_closed_) {
      is_half_closed_ = true;
      ::shutdown(fd_, SHUT_WR);
      return true;
    }
    return got > 0 || sent > 0;
  }
  // Closes with RST, so that no TIME_WAIT entries pile up in the kernel.
  void reset() {
    if (fd_ < 0) return;
    const linger now{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    ::close(fd_);
    fd_ = -1;
  }

  std::string received;

 private:
  std::string_view bytes_;
  int fd_ = -1;
  bool is_half_closed_ = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Replica kReplica;
  if (size < 3) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 3, size - 3);
  const std::size_t split = bytes.size() * data[0] / 255;
  const std::size_t piece = 1 + std::size_t{data[1]} * 8;
  Side client(bytes.substr(0, split));
  Side replica(bytes.substr(split));

  tangram::api::EndpointSpec spec;
  spec.forwarded = data[2] % 2 == 1;
  boost::asio::io_context loop(1);
  bool is_closed = false;
  endpoint::RelayContext context{.loop = loop,
                                 .spec = spec,
                                 .service_uid = ::geteuid(),
                                 .routes = endpoint::Routes(loop, {.on_drained = [](const auto&) {},
                                                                   .on_route_changed = [] {}})};
  context.on_session_closed = [&](endpoint::Session&) { is_closed = true; };
  context.routes.set({1, kReplica.port}, std::chrono::milliseconds(0));
  std::array<int, 2> ends{};
  require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()) == 0);
  client.use(ends[0]);
  auto socket = std::make_shared<endpoint::Socket>(loop, nullptr);
  require(socket->adopt(ends[1], AF_UNIX) == 0);
  const auto session = endpoint::make_http_session(context, std::move(socket), "192.0.2.7");
  session->start();
  // Until there is no progress for a few rounds.
  for (int quiet = 0; quiet < 3 && !is_closed;) {
    bool moved = client.step(piece);
    moved = replica.step(piece) || moved;
    moved = loop.poll() > 0 || moved;
    loop.restart();
    quiet = moved ? 0 : quiet + 1;
    if (!replica.is_used()) replica.use(kReplica.accept());
  }
  session->drop();
  require(is_closed);
  context.keep_alive_pool.clear();
  loop.poll();
  while (client.step(0) || replica.step(0)) {  // receive the rest
  }
  require(client.received.empty() ||
          client.received.starts_with(kStart.substr(0, client.received.size())));
  // After 101 the bytes need not be HTTP.
  const bool is_tunnel = client.received.find("HTTP/1.1 101 ") != std::string::npos;
  require(is_tunnel || tangram::fuzz::PlainHttp::are_requests(replica.received));
  while (true) {  // connections that were never served
    const int left = kReplica.accept();
    if (left < 0) break;
    Side(std::string_view()).use(left);
  }
  return 0;
}
