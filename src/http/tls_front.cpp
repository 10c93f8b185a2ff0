// See tls_front.hpp. In the hall two coroutines, one for each direction, with a buffer each, and
// one time limit for all that must not last: the handshake, a farewell. On the daemon's loop the
// session behind them. The two sides speak by posting to each other, and hold nothing of each
// other's that must be destroyed where it lives.
#include "http/tls_front.hpp"

#include <array>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>

#include "http/session.hpp"
#include "http/tls_hall.hpp"

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

// One end of the pair that joins a relay and its session, until someone takes it.
struct End {
  explicit End(int descriptor) : fd(descriptor) {}
  ~End() {
    if (fd >= 0) ::close(fd);
  }
  End(const End&) = delete;
  End& operator=(const End&) = delete;
  End(End&&) = delete;
  End& operator=(End&&) = delete;

  int fd;
};

struct Times {
  std::chrono::milliseconds greeting;
  std::chrono::milliseconds farewell;
};

// What happens in the hall. It is made elsewhere, and told to start and to close from there.
class Relay : public std::enable_shared_from_this<Relay> {
 public:
  // Called in the hall: the greeting is over, and here is where to speak to the caller; it is over.
  struct Told {
    std::function<void(std::shared_ptr<End>)> greeted;
    std::function<void()> over;
  };

  Relay(asio::io_context& hall, int descriptor, TlsKeys keys, Times times, Told told)
      : hall_(hall),
        times_(times),
        told_(std::move(told)),
        keys_(std::move(keys)),
        tls_(socket_of(hall.get_executor(), descriptor), *keys_),
        inside_(hall.get_executor()),
        limit_(hall.get_executor()) {
    watch_over(descriptor);
  }

  void start() {
    asio::co_spawn(hall_, run(),
                   [self = shared_from_this()](const std::exception_ptr&) { self->leave(); });
  }
  void close_soon() {
    asio::post(hall_, [self = shared_from_this()] { self->close(); });
  }
  // So long it may take to read the last words.
  void tell_session_over(std::chrono::milliseconds time) {
    asio::post(hall_, [self = shared_from_this(), time] {
      // Its end of the pair may have been seen to close before: then the farewell is under way.
      if (self->directions_ == 0 || self->session_over_) return;
      self->session_over_ = true;
      self->times_.farewell = time;
      self->hurry(time);  // for what is on its way still
    });
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
    told_.over();
  }

  bool begin_session() {
    int ends[2] = {-1, -1};
    constexpr int kKind = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
    if (::socketpair(AF_UNIX, kKind, 0, ends) != 0) return false;
    inside_.assign(asio::local::stream_protocol(), ends[0]);
    told_.greeted(std::make_shared<End>(ends[1]));
    return true;
  }

  Task<void> run() {
    hurry(times_.greeting);
    const auto [status] = co_await tls_.async_handshake(ssl::stream_base::server, kTuple);
    limit_.cancel();
    if (status || !tls_.next_layer().is_open() || !begin_session()) co_return;
    ++directions_;
    asio::co_spawn(hall_, inwards(),
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
        hurry(times_.farewell);
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

  asio::io_context& hall_;
  Times times_;
  Told told_;
  TlsKeys keys_;
  ssl::stream<TcpSocket> tls_;
  LocalSocket inside_;  // our end of the pair
  Timer limit_;
  int directions_ = 1;
  bool finished_ = false;      // the client will write no more
  bool refused_ = false;       // the session takes no more
  bool session_over_ = false;  // it will say no more
};

// What happens on the daemon's loop: the session, once there is one.
class Visit : public Connection, public std::enable_shared_from_this<Visit> {
 public:
  Visit(Caller caller, std::shared_ptr<House> house, std::shared_ptr<TlsHall> hall, Hooks hooks)
      : house_(std::move(house)),
        caller_(std::move(caller)),
        hooks_(std::move(hooks)),
        hall_(std::move(hall)) {}

  void start(int descriptor, TlsKeys keys) {
    const Times times{house_->options.header_time, house_->options.idle_time};
    asio::io_context& loop = house_->loop;
    const auto weak = weak_from_this();
    relay_ =
        std::make_shared<Relay>(hall_->loop(), descriptor, std::move(keys), times,
                                Relay::Told{.greeted =
                                                [&loop, weak](const std::shared_ptr<End>& end) {
                                                  asio::post(loop, [weak, end] {
                                                    if (const auto self = weak.lock())
                                                      self->begin(*end);
                                                  });
                                                },
                                            .over =
                                                [&loop, weak] {
                                                  asio::post(loop, [weak] {
                                                    if (const auto self = weak.lock())
                                                      self->hooks_.over();
                                                  });
                                                }});
    relay_->start();
  }

  void end() override {
    is_ended_ = true;
    if (session_) session_->end();
    relay_->close_soon();
  }

 private:
  // Without a session the end is closed, and the relay sees it.
  void begin(End& end) {
    if (is_ended_ || !house_->open) return;
    const auto time = std::make_shared<std::chrono::milliseconds>(house_->options.stranger_time);
    const auto over = [weak = std::weak_ptr(relay_), time] {
      if (const auto relay = weak.lock()) relay->tell_session_over(*time);
    };
    const auto welcome = [time, idle = house_->options.idle_time, welcome = hooks_.welcome] {
      *time = idle;
      return welcome ? welcome() : "";
    };
    session_ = serve(std::exchange(end.fd, -1), caller_, house_, {over, welcome});
  }

  std::shared_ptr<House> house_;
  Caller caller_;
  Hooks hooks_;
  std::shared_ptr<TlsHall> hall_;  // outlives what is in it
  std::shared_ptr<Relay> relay_;
  std::shared_ptr<Connection> session_;
  bool is_ended_ = false;
};

}  // namespace

std::shared_ptr<Connection> serve_tls(int descriptor, const Caller& caller, TlsKeys keys,
                                      std::shared_ptr<House> house, std::shared_ptr<TlsHall> hall,
                                      Hooks hooks) {
  auto visit = std::make_shared<Visit>(caller, std::move(house), std::move(hall), std::move(hooks));
  visit->start(descriptor, std::move(keys));
  return visit;
}

}  // namespace tangram::http
