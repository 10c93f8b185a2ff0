// See tls_bridge.hpp. A TlsBridge runs in the TLS thread: one coroutine and one buffer per
// direction, and one deadline for the handshake and for closing. A TlsConnection runs on the
// daemon's event loop and owns the session behind the bridge. The two communicate by posting to
// each other's loop, and neither owns an object that must be destroyed in the other's thread.
#include "http/server/tls_bridge.hpp"

#include <array>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <tuple>
#include <unistd.h>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>

#include "http/server/session.hpp"
#include "http/server/tls_thread.hpp"

namespace tangram::http {
namespace {

namespace ssl = asio::ssl;
using TcpSocket = asio::basic_stream_socket<asio::ip::tcp, Executor>;
using LocalSocket = asio::basic_stream_socket<asio::local::stream_protocol, Executor>;
using Buffer = std::array<char, std::size_t{16} << 10U>;  // one TLS record

// A half-closed TCP peer is usually gone: flush for at most this long.
constexpr auto kHalfCloseFlush = std::chrono::seconds(1);

// TCP keep-alive: a dead peer is detected within two minutes.
void set_socket_options(int descriptor) {
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

// One end of the socket pair between a bridge and its session; closes it unless `fd` is taken.
struct SocketPairEnd {
  explicit SocketPairEnd(int descriptor) : fd(descriptor) {}
  ~SocketPairEnd() {
    if (fd >= 0) ::close(fd);
  }
  SocketPairEnd(const SocketPairEnd&) = delete;
  SocketPairEnd& operator=(const SocketPairEnd&) = delete;
  SocketPairEnd(SocketPairEnd&&) = delete;
  SocketPairEnd& operator=(SocketPairEnd&&) = delete;

  int fd;
};

struct Timeouts {
  std::chrono::milliseconds handshake;
  std::chrono::milliseconds flush;  // for the client to read the rest after the session has closed
};

// TlsBridge: the client's TLS socket and one end of the socket pair. Created on the event loop,
// which calls start(), post_close() and post_session_closed(); all else runs in the TLS thread.
class TlsBridge : public std::enable_shared_from_this<TlsBridge> {
 public:
  // Called in the TLS thread.
  struct Callbacks {
    // The handshake is complete; the session is to be served on this end.
    std::function<void(std::shared_ptr<SocketPairEnd>)> on_handshake;
    // The client's connection has been closed; nothing is called after this.
    std::function<void()> on_closed;
  };

  TlsBridge(asio::io_context& tls_loop, int descriptor, TlsKeys keys, Timeouts timeouts,
            Callbacks callbacks)
      : tls_loop_(tls_loop),
        timeouts_(timeouts),
        callbacks_(std::move(callbacks)),
        keys_(std::move(keys)),
        tls_(socket_of(tls_loop.get_executor(), descriptor), *keys_),
        session_socket_(tls_loop.get_executor()),
        deadline_(tls_loop.get_executor()) {
    set_socket_options(descriptor);
  }

  void start() {
    asio::co_spawn(tls_loop_, run(), [self = shared_from_this()](const std::exception_ptr&) {
      self->on_direction_done();
    });
  }
  void post_close() {
    asio::post(tls_loop_, [self = shared_from_this()] { self->close(); });
  }
  // The session has closed its end: the client has `time` to read the rest.
  void post_session_closed(std::chrono::milliseconds time) {
    asio::post(tls_loop_, [self = shared_from_this(), time] {
      // The bridge may have seen the session's end close before: then it is flushing already.
      if (self->directions_ == 0 || self->session_closed_) return;
      self->session_closed_ = true;
      self->timeouts_.flush = time;
      self->set_deadline(time);  // for what is still being sent
    });
  }

 private:
  // Ends all pending operations on both sockets, also those of the session.
  void close() {
    deadline_.cancel();
    ErrorStatus ignored;
    std::ignore = tls_.next_layer().close(ignored);
    std::ignore = session_socket_.close(ignored);
  }

  void set_deadline(std::chrono::milliseconds time) {
    deadline_.expires_after(time);
    deadline_.async_wait([weak = weak_from_this()](ErrorStatus status) {
      const auto self = weak.lock();
      if (!status && self) self->close();
    });
  }

  void on_direction_done() {
    if (--directions_ > 0) return;
    close();
    callbacks_.on_closed();
  }

  bool open_session() {
    int ends[2] = {-1, -1};
    constexpr int kKind = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
    if (::socketpair(AF_UNIX, kKind, 0, ends) != 0) return false;
    session_socket_.assign(asio::local::stream_protocol(), ends[0]);
    callbacks_.on_handshake(std::make_shared<SocketPairEnd>(ends[1]));
    return true;
  }

  Task<void> run() {
    set_deadline(timeouts_.handshake);
    const auto [status] = co_await tls_.async_handshake(ssl::stream_base::server, kTuple);
    deadline_.cancel();
    if (status || !tls_.next_layer().is_open() || !open_session()) co_return;
    ++directions_;
    asio::co_spawn(
        tls_loop_, forward_to_session(),
        [self = shared_from_this()](const std::exception_ptr&) { self->on_direction_done(); });
    co_await forward_to_client();
  }

  Task<void> forward_to_session() {
    Buffer buffer;
    ErrorStatus status;
    while (!status) {
      std::size_t size = 0;
      std::tie(status, size) = co_await tls_.async_read_some(asio::buffer(buffer), kTuple);
      if (status || session_input_closed_) continue;
      const auto written =
          co_await asio::async_write(session_socket_, asio::buffer(buffer, size), kTuple);
      // The session takes no more input. Reading goes on: TCP answers unread input with a reset,
      // which could overtake the session's last response.
      session_input_closed_ = static_cast<bool>(std::get<0>(written));
    }
    if (session_closed_) {
      co_await discard_input(buffer);
    } else if (status == asio::error::eof) {
      client_half_closed_ = true;
      ErrorStatus ignored;
      std::ignore = session_socket_.shutdown(asio::socket_base::shutdown_send, ignored);
      set_deadline(kHalfCloseFlush);
    } else {
      close();
    }
  }

  // Reads and discards input after the session has closed: TCP answers unread input with a reset,
  // which could overtake the last response.
  Task<void> discard_input(Buffer& buffer) {
    ErrorStatus status;
    while (!status) {
      std::size_t size = 0;
      std::tie(status, size) =
          co_await tls_.next_layer().async_read_some(asio::buffer(buffer), kTuple);
    }
  }

  Task<void> forward_to_client() {
    Buffer buffer;
    while (true) {
      const auto [status, size] =
          co_await session_socket_.async_read_some(asio::buffer(buffer), kTuple);
      if (status) break;
      const auto written = co_await asio::async_write(tls_, asio::buffer(buffer, size), kTuple);
      if (std::get<0>(written)) co_return close();
      if (session_closed_) {
        set_deadline(timeouts_.flush);
      } else if (client_half_closed_) {
        set_deadline(kHalfCloseFlush);
      }
    }
    session_closed_ = true;
    set_deadline(kHalfCloseFlush);
    co_await tls_.async_shutdown(kTuple);
    ErrorStatus ignored;
    std::ignore = tls_.next_layer().shutdown(asio::socket_base::shutdown_send, ignored);
  }

  asio::io_context& tls_loop_;
  Timeouts timeouts_;
  Callbacks callbacks_;
  TlsKeys keys_;
  ssl::stream<TcpSocket> tls_;
  LocalSocket session_socket_;  // this side of the socket pair
  Timer deadline_;
  int directions_ = 1;
  bool client_half_closed_ = false;    // the client has shut down writing
  bool session_input_closed_ = false;  // writing to the session has failed
  bool session_closed_ = false;        // the session has closed
};

// TlsConnection: the Connection on the daemon's event loop. Owns the bridge, and the session once
// the handshake is complete.
class TlsConnection : public Connection, public std::enable_shared_from_this<TlsConnection> {
 public:
  TlsConnection(Caller caller, std::shared_ptr<ServerContext> context,
                std::shared_ptr<TlsThread> thread, ConnectionHooks hooks)
      : context_(std::move(context)),
        caller_(std::move(caller)),
        hooks_(std::move(hooks)),
        thread_(std::move(thread)) {}

  void start(int descriptor, TlsKeys keys) {
    const Timeouts timeouts{context_->options.header_timeout, context_->options.idle_timeout};
    asio::io_context& loop = context_->loop;
    const auto weak = weak_from_this();
    const auto on_handshake = [&loop, weak](const std::shared_ptr<SocketPairEnd>& end) {
      asio::post(loop, [weak, end] {
        if (const auto self = weak.lock()) self->open_session(*end);
      });
    };
    const auto on_closed = [&loop, weak] {
      asio::post(loop, [weak] {
        if (const auto self = weak.lock()) self->hooks_.on_closed();
      });
    };
    bridge_ = std::make_shared<TlsBridge>(
        thread_->loop(), descriptor, std::move(keys), timeouts,
        TlsBridge::Callbacks{.on_handshake = on_handshake, .on_closed = on_closed});
    bridge_->start();
  }

  void close() override {
    is_closed_ = true;
    if (session_) session_->close();
    bridge_->post_close();
  }

 private:
  // If no session is opened, `end` is closed when it is dropped, and the bridge closes.
  void open_session(SocketPairEnd& end) {
    if (is_closed_ || !context_->is_open) return;
    const auto flush_time =
        std::make_shared<std::chrono::milliseconds>(context_->options.unauthenticated_idle_timeout);
    const auto on_closed = [weak = std::weak_ptr(bridge_), flush_time] {
      if (const auto bridge = weak.lock()) bridge->post_session_closed(*flush_time);
    };
    const auto promote = [flush_time, idle = context_->options.idle_timeout,
                          promote = hooks_.promote] {
      *flush_time = idle;
      return promote ? promote() : "";
    };
    session_ = serve(std::exchange(end.fd, -1), caller_, context_, {on_closed, promote});
  }

  std::shared_ptr<ServerContext> context_;
  Caller caller_;
  ConnectionHooks hooks_;
  std::shared_ptr<TlsThread> thread_;  // must outlive the bridge
  std::shared_ptr<TlsBridge> bridge_;
  std::shared_ptr<Connection> session_;
  bool is_closed_ = false;
};

}  // namespace

std::shared_ptr<Connection> serve_tls(int descriptor, const Caller& caller, TlsKeys keys,
                                      std::shared_ptr<ServerContext> context,
                                      std::shared_ptr<TlsThread> thread, ConnectionHooks hooks) {
  auto connection = std::make_shared<TlsConnection>(caller, std::move(context), std::move(thread),
                                                    std::move(hooks));
  connection->start(descriptor, std::move(keys));
  return connection;
}

}  // namespace tangram::http
