// See server.hpp: listening, connection quotas and the rate limit.
#include "http/server/server.hpp"

#include <map>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>

#include "base/rate_limiter.hpp"
#include "base/text.hpp"
#include "http/routes/exchange.hpp"
#include "http/server/acceptor.hpp"
#include "http/server/connection.hpp"
#include "http/server/connection_quota.hpp"
#include "http/server/socket_file.hpp"
#include "http/server/tls_bridge.hpp"
#include "http/server/tls_thread.hpp"
#include "os/tcp_address.hpp"

namespace tangram::http {
namespace {

namespace asio = boost::asio;

Caller caller_at(int descriptor) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
    return {.uid = ~0U, .gid = ~0U};  // an unknown user
  }
  return {.uid = credentials.uid, .gid = credentials.gid, .pid = credentials.pid};
}

// Sends a 503 without blocking and closes the socket, so that a rejected client costs no memory.
void reject(int descriptor, const std::string& why) {
  const Response response = problem_response(problem(503, "too-many-connections", why));
  const std::string text =
      cat("HTTP/1.1 503 Service Unavailable\r\nServer: tangramd\r\nConnection: close\r\n"
          "Retry-After: 1\r\nContent-Type: ",
          response.type, "\r\nContent-Length: ", response.body.size(), "\r\n\r\n", response.body);
  static_cast<void>(::send(descriptor, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
  ::close(descriptor);
}

std::uint16_t port_of(int descriptor) {
  sockaddr_in6 address{};  // the port has the same offset in sockaddr_in
  socklen_t size = sizeof address;
  ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin6_port);
}

// The TCP listener; descriptor -1 if it is not configured.
struct TcpListener {
  int descriptor = -1;
  TlsKeys keys;
};
Result<TcpListener> open_tcp(const ServerOptions& options) {
  if (options.tcp.empty()) return TcpListener{};
  const auto address = os::parse_tcp_address(options.tcp);
  if (!address) return std::unexpected(address.error());
  auto keys = load_keys(options.certificate, options.key);
  if (!keys) return std::unexpected(keys.error());
  const auto descriptor = os::listen_at(*address);
  if (!descriptor) return std::unexpected(descriptor.error());
  return TcpListener{*descriptor, std::move(*keys)};
}

}  // namespace

class Server::Listener : public std::enable_shared_from_this<Listener> {
 public:
  Listener(asio::io_context& loop, const ServerOptions& options, ApiHandlers handlers)
      : context_(std::make_shared<ServerContext>(loop, options, std::move(handlers))),
        local_quota_(options.max_connections, options.max_connections_per_user),
        tcp_quota_(options.max_tcp_connections, options.max_connections_per_user),
        unauthenticated_quota_(options.max_unauthenticated, options.max_connections_per_user),
        rate_limiter_(options.connection_burst, options.connections_per_second) {}

  void listen(SocketFile file, TcpListener tcp) {
    file_ = std::move(file);
    keys_ = std::move(tcp.keys);
    local_ = make_acceptor(file_.descriptor, &Listener::admit_local);
    if (tcp.descriptor < 0) return;
    port_ = port_of(tcp.descriptor);
    tls_thread_ = std::make_shared<TlsThread>();
    tcp_ = make_acceptor(tcp.descriptor, &Listener::admit_remote);
  }

  void stop() {
    context_->is_open = false;
    remove(file_);
    local_->close();
    if (tcp_) tcp_->close();
    const auto connections = std::move(connections_);
    connections_.clear();
    for (const auto& [key, connection] : connections) connection->close();
    if (tls_thread_) tls_thread_->close();
    context_->log_thread.close();
    context_->watcher.close();
    context_->handlers = {};
  }

  Result<void> reload_keys(const std::string& certificate, const std::string& key) {
    if (!tcp_) return {};
    auto keys = load_keys(certificate, key);
    if (!keys) return std::unexpected(keys.error());
    keys_ = std::move(*keys);
    return {};
  }
  [[nodiscard]] std::uint16_t tcp_port() const { return port_; }

 private:
  std::shared_ptr<Acceptor> make_acceptor(int descriptor, void (Listener::*admit)(int)) {
    const auto on_accept = [weak = weak_from_this(), admit](int fd) {
      if (const auto self = weak.lock()) {
        (self.get()->*admit)(fd);
      } else {
        ::close(fd);
      }
    };
    auto acceptor = std::make_shared<Acceptor>(context_->loop, descriptor, on_accept);
    acceptor->start();
    return acceptor;
  }

  // Counts a connection in `quota` until it is closed. promote() moves it from the quota of
  // unauthenticated connections to that of authenticated TCP connections.
  ConnectionHooks acquire(std::uint64_t key, ConnectionQuota Listener::* quota,
                          const std::string& client_key) {
    (this->*quota).acquire(client_key);
    const auto current = std::make_shared<ConnectionQuota Listener::*>(quota);
    const auto on_closed = [weak = weak_from_this(), key, current, client_key] {
      const auto self = weak.lock();
      if (!self) return;
      self->connections_.erase(key);
      (self.get()->**current).release(client_key);
    };
    const auto promote = [weak = weak_from_this(), current, client_key]() -> std::string {
      const auto self = weak.lock();
      if (!self || *current != &Listener::unauthenticated_quota_) return "";
      if (std::string why = self->tcp_quota_.check(client_key); !why.empty()) return why;
      self->tcp_quota_.acquire(client_key);
      self->unauthenticated_quota_.release(client_key);
      *current = &Listener::tcp_quota_;
      return "";
    };
    return {on_closed, promote};
  }

  void admit_local(int descriptor) {
    const Caller caller = caller_at(descriptor);
    const std::string client_key = cat("user ", caller.uid);
    const bool is_privileged = caller.uid == 0 || caller.uid == ::geteuid();
    const std::string why =
        local_quota_.check(client_key, is_privileged ? context_->options.reserved_connections : 0);
    if (!why.empty()) {
      reject(descriptor, why);
      return;
    }
    const std::uint64_t key = ++last_key_;
    connections_[key] =
        serve(descriptor, caller, context_, acquire(key, &Listener::local_quota_, client_key));
  }

  // New TCP connections are unauthenticated and count in a quota of their own, so that they cannot
  // use up those of authenticated clients. A rejected one is closed without a response, which would
  // need a TLS handshake first.
  void admit_remote(int descriptor) {
    Caller caller{.uid = ~0U, .gid = ~0U};
    caller.address = os::peer_of(descriptor);
    const std::string client_key = os::network_of(caller.address);
    if (!unauthenticated_quota_.check(client_key).empty() ||
        !rate_limiter_.try_acquire(client_key, std::chrono::steady_clock::now())) {
      ::close(descriptor);
      return;
    }
    const std::uint64_t key = ++last_key_;
    connections_[key] = serve_tls(descriptor, caller, keys_, context_, tls_thread_,
                                  acquire(key, &Listener::unauthenticated_quota_, client_key));
  }

  std::shared_ptr<ServerContext> context_;
  SocketFile file_;
  std::shared_ptr<Acceptor> local_;
  std::shared_ptr<Acceptor> tcp_;
  TlsKeys keys_;
  std::uint16_t port_ = 0;
  std::map<std::uint64_t, std::shared_ptr<Connection>> connections_;
  ConnectionQuota local_quota_;
  ConnectionQuota tcp_quota_;
  ConnectionQuota unauthenticated_quota_;  // unauthenticated TCP connections
  RateLimiter rate_limiter_;               // of new TCP connections, per remote network
  std::shared_ptr<TlsThread> tls_thread_;
  std::uint64_t last_key_ = 0;
};

Server::Server(std::shared_ptr<Listener> listener) : listener_(std::move(listener)) {}

Server::~Server() { listener_->stop(); }

Result<void> Server::reload_keys(const std::string& certificate, const std::string& key) {
  return listener_->reload_keys(certificate, key);
}

std::uint16_t Server::tcp_port() const { return listener_->tcp_port(); }

Result<std::unique_ptr<Server>> Server::open(asio::io_context& loop, const ServerOptions& options,
                                             ApiHandlers handlers) {
  auto tcp = open_tcp(options);
  if (!tcp) return std::unexpected(tcp.error());
  auto file = listen_at(options.socket, options.mode, {.on_wait = options.on_socket_wait});
  if (!file) {
    if (tcp->descriptor >= 0) ::close(tcp->descriptor);
    return std::unexpected(file.error());
  }
  auto listener = std::make_shared<Listener>(loop, options, std::move(handlers));
  listener->listen(std::move(*file), std::move(*tcp));
  return std::unique_ptr<Server>(new Server(std::move(listener)));
}

}  // namespace tangram::http
