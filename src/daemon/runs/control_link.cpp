// See control_link.hpp.
#include "daemon/runs/control_link.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <deque>
#include <poll.h>
#include <string_view>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <tuple>
#include <unistd.h>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "base/text.hpp"
#include "os/descriptor.hpp"
#include "shim/run_folder.hpp"

namespace tangram::daemon {

using Local = boost::asio::local::stream_protocol;
using boost::system::error_code;

class ControlLink::Stream : public std::enable_shared_from_this<Stream> {
 public:
  Stream(boost::asio::io_context& loop, Callbacks callbacks)
      : socket_(loop), callbacks_(std::move(callbacks)) {}

  void connect(const std::string& folder);
  void send(std::string line);
  Result<void> kill_peer();
  void close() {
    closed_ = true;
    error_code ignored;
    std::ignore = socket_.close(ignored);
  }

 private:
  void read();
  void write();
  void end();

  Local::socket socket_;
  Callbacks callbacks_;
  std::string received_;
  std::deque<std::string> unsent_;
  bool connected_ = false;
  bool closed_ = false;
  bool ended_ = false;
};

void ControlLink::Stream::connect(const std::string& folder) {
  auto connection = shim::connect_control(folder);
  if (!connection) {
    end();
    return;
  }
  socket_.assign(Local(), connection->release());
  connected_ = true;
  read();
  write();
}

void ControlLink::Stream::read() {
  boost::asio::async_read_until(
      socket_, boost::asio::dynamic_buffer(received_, 1U << 20U), '\n',
      [self = shared_from_this()](const error_code& error, std::size_t length) {
        if (self->closed_) return;
        if (error) {
          self->end();
          return;
        }
        error_code bad;
        const boost::json::value line =
            boost::json::parse(std::string_view(self->received_).substr(0, length), bad);
        self->received_.erase(0, length);
        if (!bad && line.is_object()) self->callbacks_.on_line(line.get_object());
        if (!self->closed_) self->read();
      });
}

void ControlLink::Stream::send(std::string line) {
  unsent_.push_back(std::move(line));
  if (connected_ && unsent_.size() == 1) write();
}

void ControlLink::Stream::write() {
  if (unsent_.empty()) return;
  boost::asio::async_write(socket_, boost::asio::buffer(unsent_.front()),
                           [self = shared_from_this()](const error_code& error, std::size_t) {
                             if (self->closed_) return;
                             if (error) {  // e.g. out of memory; read() reports the end
                               error_code ignored;
                               std::ignore =
                                   self->socket_.shutdown(Local::socket::shutdown_both, ignored);
                               return;
                             }
                             self->unsent_.pop_front();
                             self->write();
                           });
}

// The pid cannot have been reused: the peer is alive while the connection is open, and the
// connection is checked after the pidfd has been opened. (syscall(): glibc's header for these calls
// cannot be used from C++.)
Result<void> ControlLink::Stream::kill_peer() {
  if (!connected_) return failed("not connected.");
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (getsockopt(socket_.native_handle(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
      peer.pid <= 0) {
    return failed("the kernel does not report its pid.");
  }
  const os::Descriptor process(static_cast<int>(syscall(SYS_pidfd_open, peer.pid, 0)));
  if (!process.ok()) return failed(cat("process ", peer.pid, ": ", std::strerror(errno), "."));
  pollfd connection{.fd = socket_.native_handle(), .events = 0, .revents = 0};
  if (poll(&connection, 1, 0) != 0) return failed("the connection was lost.");
  if (syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0) != 0) {
    return failed(cat("process ", peer.pid, ": ", std::strerror(errno), "."));
  }
  return {};
}

void ControlLink::Stream::end() {
  if (std::exchange(ended_, true)) return;
  boost::asio::post(socket_.get_executor(), [self = shared_from_this()] {
    if (!self->closed_) self->callbacks_.on_closed();
  });
}

ControlLink::ControlLink(boost::asio::io_context& loop, const std::string& folder,
                         Callbacks callbacks)
    : stream_(std::make_shared<Stream>(loop, std::move(callbacks))) {
  stream_->connect(folder);
}

ControlLink::~ControlLink() { stream_->close(); }

Result<void> ControlLink::kill_peer() { return stream_->kill_peer(); }

void ControlLink::send(const boost::json::object& request) {
  stream_->send(boost::json::serialize(request) + "\n");
}

}  // namespace tangram::daemon
