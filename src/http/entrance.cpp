// See entrance.hpp.
#include "http/entrance.hpp"

#include <cerrno>
#include <sys/socket.h>

namespace tangram::http {
namespace {

namespace asio = boost::asio;

constexpr auto kNoDescriptors = std::chrono::milliseconds(100);
constexpr int kMostAtOnce = 64;  // connections taken before others get their turn on the loop

}  // namespace

Entrance::Entrance(asio::io_context& loop, int descriptor, std::function<void(int)> taken)
    : descriptor_(loop, descriptor), pause_(loop), taken_(std::move(taken)) {}

void Entrance::listen() {
  descriptor_.async_wait(asio::posix::stream_descriptor::wait_read,
                         [self = shared_from_this()](boost::system::error_code status) {
                           if (!status && self->descriptor_.is_open()) self->take_all();
                         });
}

void Entrance::close() {
  boost::system::error_code ignored;
  descriptor_.close(ignored);
  pause_.cancel();
}

void Entrance::take_all() {
  for (int i = 0; i < kMostAtOnce; ++i) {
    const int taken =
        ::accept4(descriptor_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (taken >= 0) {
      taken_(taken);
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      return listen_later();
    } else if (errno != EINTR && errno != ECONNABORTED) {
      break;
    }
  }
  listen();
}

// Whoever waits would be reported again at once, and there is nothing to give him.
void Entrance::listen_later() {
  pause_.expires_after(kNoDescriptors);
  pause_.async_wait([self = shared_from_this()](boost::system::error_code status) {
    if (!status && self->descriptor_.is_open()) self->listen();
  });
}

}  // namespace tangram::http
