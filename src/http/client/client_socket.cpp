// See client_socket.hpp: waiting, reading and writing. Connecting is in client_connect.cpp.
#include "http/client/client_socket.hpp"

#include <algorithm>
#include <cerrno>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/error.hpp>
#include <openssl/err.h>
#include <openssl/ssl.h>

namespace tangram::http {
namespace {

int size_of(std::size_t size) { return static_cast<int>(std::min(size, std::size_t{1} << 30U)); }

}  // namespace

void ClientSocket::FreeSsl::operator()(ssl_st* ssl) const { ::SSL_free(ssl); }
void ClientSocket::FreeContext::operator()(ssl_ctx_st* context) const { ::SSL_CTX_free(context); }

ClientSocket::~ClientSocket() {
  if (ssl_) {
    ::ERR_clear_error();
    ::SSL_shutdown(ssl_.get());  // sends close_notify; does not wait for the peer's
  }
  if (fd_ >= 0) ::close(fd_);
}

// Interprets the result of a read or write; the error is in errno or in the SSL object.
ClientSocket::Attempt ClientSocket::attempt_of(long count, short plain_wants) const {
  if (count > 0) return {count, 0, 0};
  const int why = errno;
  if (!ssl_) {
    if (count == 0) return {};
    if (why == EAGAIN || why == EINTR) return {-1, plain_wants, 0};
    return {-1, 0, why};
  }
  switch (::SSL_get_error(ssl_.get(), static_cast<int>(count))) {
    case SSL_ERROR_WANT_READ:
      return {-1, POLLIN, 0};
    case SSL_ERROR_WANT_WRITE:
      return {-1, POLLOUT, 0};
    case SSL_ERROR_ZERO_RETURN:
      return {};
    case SSL_ERROR_SYSCALL:
      if (why == 0) return {};
      return {-1, 0, why};
    default: {
      const bool cut = ERR_GET_REASON(::ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING;
      return {-1, 0, cut ? ECONNRESET : EPROTO};
    }
  }
}

template <class Try>
std::size_t ClientSocket::transfer(const Try& attempt, Status& status) {
  status = {};
  const auto deadline = Clock::now() + timeout_;
  while (true) {
    errno = 0;
    ::ERR_clear_error();
    const Attempt done = attempt();
    if (done.count > 0) return static_cast<std::size_t>(done.count);
    if (done.count == 0) {
      status = boost::asio::error::eof;
      return 0;
    }
    const int why = done.wants == 0 ? done.failure : wait(done.wants, deadline);
    if (why == 0) continue;
    status = system_status(why);
    return 0;
  }
}

void ClientSocket::transfer_handshake(Status& status) {
  transfer([&] { return attempt_of(::SSL_connect(ssl_.get()), POLLIN); }, status);
}

std::size_t ClientSocket::read(void* data, std::size_t size, Status& status) {
  return transfer(
      [&] {
        const long count = ssl_ ? ::SSL_read(ssl_.get(), data, size_of(size))
                                : ::recv(fd_, data, size, MSG_DONTWAIT);
        return attempt_of(count, POLLIN);
      },
      status);
}

std::size_t ClientSocket::write(const void* data, std::size_t size, Status& status) {
  return transfer(
      [&] {
        const long count = ssl_ ? ::SSL_write(ssl_.get(), data, size_of(size))
                                : ::send(fd_, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
        return attempt_of(count, POLLOUT);
      },
      status);
}

int ClientSocket::wait(short events, Clock::time_point deadline) const {
  pollfd both[] = {{fd_, events, 0}, {stop_, POLLIN, 0}};
  int left = -1;
  if (timeout_.count() > 0) {
    const auto remaining =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (remaining <= 0) return ETIMEDOUT;
    left = static_cast<int>(std::min<std::int64_t>(remaining, 3'600'000));
  }
  if (::poll(both, 2, left) < 0 && errno != EINTR) return errno;
  return both[1].revents != 0 ? ECANCELED : 0;
}

// Between two requests the server sends nothing, except TLS records that SSL_peek() consumes.
bool ClientSocket::is_closed_by_peer() {
  char byte = 0;
  errno = 0;
  ::ERR_clear_error();
  const long count =
      ssl_ ? ::SSL_peek(ssl_.get(), &byte, 1) : ::recv(fd_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return attempt_of(count, POLLIN).wants == 0;
}

}  // namespace tangram::http
