// See socket.hpp. Reads wait for readiness on the loop; sends are tried at once, because the send
// buffer nearly always has space.
#include "endpoint/net/socket.hpp"

#include <array>
#include <cerrno>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <tuple>
#include <unistd.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/ip/address_v4.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>

namespace tangram::endpoint {
namespace {

namespace asio = boost::asio;
using Status = boost::system::error_code;

// Disables Nagle's algorithm: a relay must not delay small pieces.
void set_no_delay(int descriptor) {
  const int one = 1;
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

}  // namespace

int Socket::adopt(int descriptor, int family) {
  const bool is_tcp = family != AF_UNIX;
  if (is_tcp) set_no_delay(descriptor);
  Status status;
  const asio::generic::stream_protocol protocol(family, is_tcp ? IPPROTO_TCP : 0);
  if (socket_.assign(protocol, descriptor, status)) {
    ::close(descriptor);
    return status.value();
  }
  std::ignore = socket_.non_blocking(true, status);
  return 0;
}

void Socket::connect(std::uint16_t port) {
  const asio::ip::tcp::endpoint target(asio::ip::address_v4::loopback(), port);
  const auto connected = [self = shared_from_this()](Status status) {
    if (self->owner_ != nullptr && self->socket_.is_open()) {
      self->owner_->on_connected(*self, !status);
    }
  };
  Status status;
  if (socket_.open(asio::generic::stream_protocol(AF_INET, IPPROTO_TCP), status)) {
    // Out of descriptors: reported like a refused connection, so that it is retried.
    asio::post(socket_.get_executor(), [self = shared_from_this()] {
      if (self->owner_ != nullptr) self->owner_->on_connected(*self, false);
    });
    return;
  }
  std::ignore = socket_.non_blocking(true, status);
  set_no_delay(socket_.native_handle());
  socket_.async_connect(asio::generic::stream_protocol::endpoint(target), connected);
}

void Socket::read(std::size_t limit) {
  if (is_reading_ || ended_ || !socket_.is_open()) return;
  const std::span<char> space = in.prepare(limit);
  if (space.empty()) return;
  is_reading_ = true;
  socket_.async_read_some(asio::buffer(space.data(), space.size()),
                          [self = shared_from_this()](Status status, std::size_t count) {
                            self->on_read(status, count);
                          });
}

void Socket::on_read(Status status, std::size_t count) {
  is_reading_ = false;
  if (!socket_.is_open()) return;
  if (status) {
    ended_ = true;
    failed_ = status != asio::error::eof;
  } else {
    in.commit(count);
    if (received_ != nullptr) *received_ += count;
  }
  if (owner_ != nullptr) owner_->on_bytes(*this);
}

bool Socket::has_peer_half_closed() {
  if (ended_ || is_reading_ || !socket_.is_open()) return ended_;
  pollfd one{.fd = socket_.native_handle(), .events = POLLRDHUP, .revents = 0};
  return ::poll(&one, 1, 0) > 0;
}

bool Socket::is_open_and_quiet() {
  pollfd one{.fd = socket_.native_handle(), .events = POLLIN | POLLRDHUP, .revents = 0};
  return !ended_ && socket_.is_open() && ::poll(&one, 1, 0) == 0;
}

std::size_t Socket::send(std::string_view first, std::string_view second) {
  if (is_blocked_ || broken_ || is_half_closed_ || !socket_.is_open()) return 0;
  const std::size_t wanted = first.size() + second.size();
  if (wanted == 0) return 0;
  const std::array<asio::const_buffer, 2> pieces{asio::buffer(first), asio::buffer(second)};
  std::size_t done = 0;
  Status status;
  do {
    done = socket_.send(pieces, MSG_DONTWAIT, status);
  } while (status == asio::error::interrupted);
  if (status && status != asio::error::try_again && status != asio::error::would_block) {
    broken_ = true;
    // The peer may have answered before it closed. Any other failure (out of memory) is local: the
    // peer will wait for the rest for ever, and so would the reader of its answer.
    const bool is_of_peer =
        status == asio::error::broken_pipe || status == asio::error::connection_reset;
    Status ignored;
    if (!is_of_peer) std::ignore = socket_.shutdown(AsioSocket::shutdown_both, ignored);
    return 0;
  }
  if (sent_ != nullptr) *sent_ += done;
  if (done < wanted) wait_writable();
  return done;
}

void Socket::wait_writable() {
  is_blocked_ = true;
  socket_.async_wait(AsioSocket::wait_write, [self = shared_from_this()](Status) {
    self->is_blocked_ = false;
    if (self->owner_ != nullptr && self->socket_.is_open()) self->owner_->on_writable(*self);
  });
}

void Socket::half_close() {
  if (is_half_closed_ || !socket_.is_open()) return;
  is_half_closed_ = true;
  Status ignored;
  std::ignore = socket_.shutdown(AsioSocket::shutdown_send, ignored);
}

void Socket::close(bool reset) {
  owner_ = nullptr;
  if (!socket_.is_open()) return;
  Status ignored;
  if (reset) std::ignore = socket_.set_option(asio::socket_base::linger(true, 0), ignored);
  std::ignore = socket_.close(ignored);
}

bool relay_bytes(Socket& from, Socket& to) {
  if (!from.in.empty()) from.in.consume(to.send(from.in.view()));
  if (to.is_broken() || from.has_failed()) return false;
  if (from.has_ended() && from.in.empty()) to.half_close();
  return true;
}

}  // namespace tangram::endpoint
