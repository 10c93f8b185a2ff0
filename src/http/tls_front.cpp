// See tls_front.hpp. Two coroutines, one for each direction, with a buffer each; and one time limit
// for all that must not last: the handshake, a farewell.
#include "http/tls_front.hpp"

#include <array>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>

#include "http/session.hpp"

namespace tangram::http {
namespace {

namespace ssl = asio::ssl;
using TcpSocket = asio::basic_stream_socket<asio::ip::tcp, Executor>;
using LocalSocket = asio::basic_stream_socket<asio::local::stream_protocol, Executor>;
using Room = std::array<char, std::size_t{16} << 10U>;  // what fits into one record of TLS

// Who says over TCP that he will write no more has mostly left; he gets what comes at once.
constexpr auto kFarewell = std::chrono::seconds(1);

// A peer that vanished without a word is noticed within two minutes.
void watch_over(int descriptor) {
  const auto set = [descriptor](int level, int option, int value) {
    ::setsockopt(descriptor, level, option, &value, sizeof value);
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 60);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 15);
  set(IPPROTO_TCP, TCP_KEEPCNT, 4);
}

TcpSocket socket_of(const Executor& executor, int descriptor) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size);
  const bool six = address.ss_family == AF_INET6;
  return {executor, six ? asio::ip::tcp::v6() : asio::ip::tcp::v4(), descriptor};
}

class Relay : public Connection, public std::enable_shared_from_this<Relay> {
 public:
  Relay(int descriptor, Caller caller, TlsKeys keys, std::shared_ptr<House> house,
        std::function<void()> over)
      : house_(std::move(house)),
        caller_(std::move(caller)),
        over_(std::move(over)),
        keys_(std::move(keys)),
        tls_(socket_of(house_->loop.get_executor(), descriptor), *keys_),
        inside_(house_->loop.get_executor()),
        limit_(house_->loop.get_executor()) {
    watch_over(descriptor);
  }

  void start() {
    asio::co_spawn(house_->loop, run(),
                   [self = shared_from_this()](const std::exception_ptr&) { self->leave(); });
  }

  void end() override {
    if (session_) session_->end();
    close();
  }

 private:
  // Whoever waits at either end, here or in the session, is woken by it.
  void close() {
    limit_.cancel();
    ErrorStatus ignored;
    tls_.next_layer().close(ignored);
    inside_.close(ignored);
  }

  void hurry(std::chrono::milliseconds time) {
    limit_.expires_after(time);
    limit_.async_wait([weak = weak_from_this()](ErrorStatus status) {
      const auto self = weak.lock();
      if (!status && self) self->close();
    });
  }

  void leave() {
    if (--directions_ > 0) return;
    close();
    over_();
  }

  bool begin_session() {
    int ends[2] = {-1, -1};
    constexpr int kKind = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
    if (!house_->open || ::socketpair(AF_UNIX, kKind, 0, ends) != 0) return false;
    inside_.assign(asio::local::stream_protocol(), ends[0]);
    session_ = serve(ends[1], caller_, house_, [weak = weak_from_this()] {
      const auto self = weak.lock();
      if (!self) return;
      self->session_over_ = true;
      self->hurry(self->house_->options.idle_time);  // for what is on its way still
    });
    return true;
  }

  Task<void> run() {
    hurry(house_->options.header_time);
    const auto [status] = co_await tls_.async_handshake(ssl::stream_base::server, kTuple);
    limit_.cancel();
    if (status || !begin_session()) co_return;
    ++directions_;
    asio::co_spawn(house_->loop, inwards(),
                   [self = shared_from_this()](const std::exception_ptr&) { self->leave(); });
    co_await outwards();
  }

  Task<void> inwards() {
    Room room;
    ErrorStatus status;
    while (!status) {
      std::size_t size = 0;
      std::tie(status, size) = co_await tls_.async_read_some(asio::buffer(room), kTuple);
      if (status || refused_) continue;
      const auto written = co_await asio::async_write(inside_, asio::buffer(room, size), kTuple);
      // The session has closed; what still comes is read, or its last words would be lost.
      refused_ = static_cast<bool>(std::get<0>(written));
    }
    if (session_over_) {
      co_await drain(room);
    } else if (status == asio::error::eof) {
      finished_ = true;
      ErrorStatus ignored;
      inside_.shutdown(asio::socket_base::shutdown_send, ignored);
      hurry(kFarewell);
    } else {
      close();
    }
  }

  // What came after the farewell is of no interest, but must be taken: TCP answers what is left
  // unread with a reset, which can overtake the last words.
  Task<void> drain(Room& room) {
    ErrorStatus status;
    while (!status) {
      std::size_t size = 0;
      std::tie(status, size) =
          co_await tls_.next_layer().async_read_some(asio::buffer(room), kTuple);
    }
  }

  Task<void> outwards() {
    Room room;
    while (true) {
      const auto [status, size] = co_await inside_.async_read_some(asio::buffer(room), kTuple);
      if (status) break;
      const auto written = co_await asio::async_write(tls_, asio::buffer(room, size), kTuple);
      if (std::get<0>(written)) co_return close();
      if (session_over_) {
        hurry(house_->options.idle_time);
      } else if (finished_) {
        hurry(kFarewell);
      }
    }
    session_over_ = true;
    hurry(kFarewell);
    co_await tls_.async_shutdown(kTuple);
    ErrorStatus ignored;
    tls_.next_layer().shutdown(asio::socket_base::shutdown_send, ignored);
  }

  std::shared_ptr<House> house_;
  Caller caller_;
  std::function<void()> over_;
  TlsKeys keys_;
  ssl::stream<TcpSocket> tls_;
  LocalSocket inside_;  // our end of the pair
  Timer limit_;
  std::shared_ptr<Connection> session_;
  int directions_ = 1;
  bool finished_ = false;      // the client will write no more
  bool refused_ = false;       // the session takes no more
  bool session_over_ = false;  // it will say no more
};

}  // namespace

std::shared_ptr<Connection> serve_tls(int descriptor, const Caller& caller, TlsKeys keys,
                                      std::shared_ptr<House> house, std::function<void()> over) {
  auto relay = std::make_shared<Relay>(descriptor, caller, std::move(keys), std::move(house),
                                       std::move(over));
  relay->start();
  return relay;
}

}  // namespace tangram::http
