// See server.hpp: who may connect, and for how many there is room.
#include "http/server.hpp"

#include <map>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>

#include "base/text.hpp"
#include "http/connection.hpp"
#include "http/entrance.hpp"
#include "http/exchange.hpp"
#include "http/pace.hpp"
#include "http/places.hpp"
#include "http/socket_file.hpp"
#include "http/tcp_address.hpp"
#include "http/tls_front.hpp"
#include "http/tls_hall.hpp"

namespace tangram::http {
namespace {

namespace asio = boost::asio;

Caller caller_at(int descriptor) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
    return {.uid = ~0U, .gid = ~0U};  // nobody
  }
  return {.uid = credentials.uid, .gid = credentials.gid, .pid = credentials.pid};
}

// Says why without waiting; who is turned away so costs no more than this.
void turn_away(int descriptor, const std::string& why) {
  const Response response = problem_response(problem(503, "too-many-connections", why));
  const std::string text =
      cat("HTTP/1.1 503 Service Unavailable\r\nServer: tangramd\r\nConnection: close\r\n"
          "Retry-After: 1\r\nContent-Type: ",
          response.type, "\r\nContent-Length: ", response.body.size(), "\r\n\r\n", response.body);
  static_cast<void>(::send(descriptor, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
  ::close(descriptor);
}

std::uint16_t port_of(int descriptor) {
  sockaddr_in6 address{};  // its port stands where that of IPv4 does
  socklen_t size = sizeof address;
  ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin6_port);
}

// The other door, if one is wanted.
struct Tcp {
  int descriptor = -1;
  TlsKeys keys;
};
Result<Tcp> open_tcp(const ServerOptions& options) {
  if (options.tcp.empty()) return Tcp{};
  const auto address = parse_tcp_address(options.tcp);
  if (!address) return std::unexpected(address.error());
  auto keys = load_keys(options.certificate, options.key);
  if (!keys) return std::unexpected(keys.error());
  const auto descriptor = listen_at(*address);
  if (!descriptor) return std::unexpected(descriptor.error());
  return Tcp{*descriptor, std::move(*keys)};
}

}  // namespace

class Server::Listener : public std::enable_shared_from_this<Listener> {
 public:
  Listener(asio::io_context& loop, const ServerOptions& options, Doors doors)
      : house_(std::make_shared<House>(loop, options, std::move(doors))),
        local_places_(options.most_connections, options.most_per_user),
        tcp_places_(options.most_tcp_connections, options.most_per_user),
        strangers_(options.most_strangers, options.most_per_user),
        arrivals_(options.most_arrivals, options.arrivals_per_second) {}

  void listen(SocketFile file, Tcp tcp) {
    file_ = std::move(file);
    keys_ = std::move(tcp.keys);
    local_ = entrance(file_.descriptor, &Listener::admit_local);
    if (tcp.descriptor < 0) return;
    port_ = port_of(tcp.descriptor);
    hall_ = std::make_shared<TlsHall>();
    tcp_ = entrance(tcp.descriptor, &Listener::admit_remote);
  }

  void stop() {
    house_->open = false;
    remove(file_);
    local_->close();
    if (tcp_) tcp_->close();
    const auto connections = std::move(connections_);
    connections_.clear();
    for (const auto& [key, connection] : connections) connection->end();
    if (hall_) hall_->close();
    house_->logs.close();
    house_->watcher.close();
    house_->doors = {};
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
  std::shared_ptr<Entrance> entrance(int descriptor, void (Listener::*admit)(int)) {
    const auto taken = [weak = weak_from_this(), admit](int fd) {
      if (const auto self = weak.lock()) return (self.get()->*admit)(fd);
      ::close(fd);
    };
    auto made = std::make_shared<Entrance>(house_->loop, descriptor, taken);
    made->listen();
    return made;
  }

  // Takes a place; a stranger's is given back for a guest's once he has shown a good token.
  Hooks enter(std::uint64_t key, Places Listener::* places, const std::string& guest) {
    (this->*places).take(guest);
    const auto where = std::make_shared<Places Listener::*>(places);
    const auto over = [weak = weak_from_this(), key, where, guest] {
      const auto self = weak.lock();
      if (!self) return;
      self->connections_.erase(key);
      (self.get()->**where).give_back(guest);
    };
    const auto welcome = [weak = weak_from_this(), where, guest]() -> std::string {
      const auto self = weak.lock();
      if (!self || *where != &Listener::strangers_) return "";
      if (std::string why = self->tcp_places_.refusal(guest); !why.empty()) return why;
      self->tcp_places_.take(guest);
      self->strangers_.give_back(guest);
      *where = &Listener::tcp_places_;
      return "";
    };
    return {over, welcome};
  }

  void admit_local(int descriptor) {
    const Caller caller = caller_at(descriptor);
    const std::string guest = cat("user ", caller.uid);
    const bool master = caller.uid == 0 || caller.uid == ::geteuid();
    const std::string why =
        local_places_.refusal(guest, master ? house_->options.reserved_connections : 0);
    if (!why.empty()) return turn_away(descriptor, why);
    const std::uint64_t key = ++last_key_;
    connections_[key] =
        serve(descriptor, caller, house_, enter(key, &Listener::local_places_, guest));
  }

  // Nothing can be said to who is turned away before he has spoken TLS. Strangers have places of
  // their own: however many they are, they take none of the guests'.
  void admit_remote(int descriptor) {
    Caller caller{.uid = ~0U, .gid = ~0U};
    caller.address = peer_of(descriptor);
    const std::string guest = network_of(caller.address);
    if (!strangers_.refusal(guest).empty() || !arrivals_.take(guest)) {
      ::close(descriptor);
      return;
    }
    const std::uint64_t key = ++last_key_;
    connections_[key] = serve_tls(descriptor, caller, keys_, house_, hall_,
                                  enter(key, &Listener::strangers_, guest));
  }

  std::shared_ptr<House> house_;
  SocketFile file_;
  std::shared_ptr<Entrance> local_;
  std::shared_ptr<Entrance> tcp_;
  TlsKeys keys_;
  std::uint16_t port_ = 0;
  std::map<std::uint64_t, std::shared_ptr<Connection>> connections_;
  Places local_places_;
  Places tcp_places_;
  Places strangers_;  // over TCP
  Pace arrivals_;     // the same
  std::shared_ptr<TlsHall> hall_;
  std::uint64_t last_key_ = 0;
};

Server::Server(std::shared_ptr<Listener> listener) : listener_(std::move(listener)) {}

Server::~Server() { listener_->stop(); }

Result<void> Server::reload_keys(const std::string& certificate, const std::string& key) {
  return listener_->reload_keys(certificate, key);
}

std::uint16_t Server::tcp_port() const { return listener_->tcp_port(); }

Result<std::unique_ptr<Server>> Server::open(asio::io_context& loop, const ServerOptions& options,
                                             Doors doors) {
  auto tcp = open_tcp(options);
  if (!tcp) return std::unexpected(tcp.error());
  auto file = listen_at(options.socket, options.mode);
  if (!file) {
    if (tcp->descriptor >= 0) ::close(tcp->descriptor);
    return std::unexpected(file.error());
  }
  auto listener = std::make_shared<Listener>(loop, options, std::move(doors));
  listener->listen(std::move(*file), std::move(*tcp));
  return std::unique_ptr<Server>(new Server(std::move(listener)));
}

}  // namespace tangram::http
