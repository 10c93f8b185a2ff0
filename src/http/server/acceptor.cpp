// See acceptor.hpp.
#include "http/server/acceptor.hpp"

#include <cerrno>
#include <sys/socket.h>
#include <tuple>

namespace tangram::http {
namespace {

namespace asio = boost::asio;

constexpr auto kRetryTime = std::chrono::milliseconds(100);  // when out of descriptors
constexpr int kMaxAtOnce = 64;  // connections accepted before other events are handled

}  // namespace

Acceptor::Acceptor(asio::io_context& loop, int descriptor, std::function<void(int)> on_accept)
    : descriptor_(loop, descriptor), retry_(loop), on_accept_(std::move(on_accept)) {}

void Acceptor::start() {
  descriptor_.async_wait(asio::posix::stream_descriptor::wait_read,
                         [self = shared_from_this()](boost::system::error_code status) {
                           if (!status && self->descriptor_.is_open()) self->accept_pending();
                         });
}

void Acceptor::close() {
  boost::system::error_code ignored;
  std::ignore = descriptor_.close(ignored);
  retry_.cancel();
}

void Acceptor::accept_pending() {
  for (int i = 0; i < kMaxAtOnce; ++i) {
    const int accepted =
        ::accept4(descriptor_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (accepted >= 0) {
      on_accept_(accepted);
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      retry_later();
      return;
    } else if (errno != EINTR && errno != ECONNABORTED) {
      break;
    }
  }
  start();
}

// Out of descriptors or memory: waits, because the socket would be reported as readable again at
// once and accepting would fail again.
void Acceptor::retry_later() {
  retry_.expires_after(kRetryTime);
  retry_.async_wait([self = shared_from_this()](boost::system::error_code status) {
    if (!status && self->descriptor_.is_open()) self->start();
  });
}

}  // namespace tangram::http
