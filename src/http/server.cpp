// See server.hpp: who may connect, and for how many there is room.
#include "http/server.hpp"

#include <cerrno>
#include <map>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/text.hpp"
#include "http/connection.hpp"
#include "http/exchange.hpp"
#include "http/socket_file.hpp"

namespace tangram::http {
namespace {

namespace asio = boost::asio;

constexpr auto kNoDescriptors = std::chrono::milliseconds(100);
constexpr int kMostAtOnce = 64;  // connections taken before others get their turn on the loop

Caller caller_at(int descriptor) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
    return {~0U, ~0U, 0};  // nobody
  }
  return {credentials.uid, credentials.gid, credentials.pid};
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

}  // namespace

class Server::Listener : public std::enable_shared_from_this<Listener> {
 public:
  Listener(asio::io_context& loop, const ServerOptions& options, Doors doors, SocketFile file)
      : house_(std::make_shared<House>(loop, options, std::move(doors))),
        file_(std::move(file)),
        descriptor_(loop, file_.descriptor),
        pause_(loop) {}

  void listen() {
    descriptor_.async_wait(asio::posix::stream_descriptor::wait_read,
                           [self = shared_from_this()](boost::system::error_code status) {
                             if (!status && self->house_->open) self->take_all();
                           });
  }

  void stop() {
    house_->open = false;
    remove(file_);
    boost::system::error_code ignored;
    descriptor_.close(ignored);
    pause_.cancel();
    const auto connections = std::move(connections_);
    connections_.clear();
    for (const auto& [key, connection] : connections) connection->end();
    house_->watcher.close();
    house_->doors = {};
  }

 private:
  void take_all() {
    for (int i = 0; i < kMostAtOnce; ++i) {
      const int taken =
          ::accept4(descriptor_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (taken >= 0) {
        admit(taken);
      } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        return listen_later();
      } else if (errno != EINTR && errno != ECONNABORTED) {
        break;
      }
    }
    listen();
  }

  // Whoever waits would be reported again at once, and there is nothing to give him.
  void listen_later() {
    pause_.expires_after(kNoDescriptors);
    pause_.async_wait([self = shared_from_this()](boost::system::error_code status) {
      if (!status && self->house_->open) self->listen();
    });
  }

  void admit(int descriptor) {
    const Caller caller = caller_at(descriptor);
    const ServerOptions& options = house_->options;
    if (connections_.size() >= options.most_connections) {
      return turn_away(descriptor, cat("tangramd has its ", options.most_connections,
                                       " connections in use; try again in a moment."));
    }
    std::size_t& of_user = per_user_[caller.uid];
    if (of_user >= options.most_per_user) {
      return turn_away(descriptor, cat("you have ", of_user,
                                       " connections open, which is as many as a user may have; "
                                       "close some first."));
    }
    ++of_user;
    const std::uint64_t key = ++last_key_;
    connections_[key] =
        serve(descriptor, caller, house_, [weak = weak_from_this(), key, uid = caller.uid] {
          if (const auto self = weak.lock()) self->forget(key, uid);
        });
  }

  void forget(std::uint64_t key, std::uint32_t uid) {
    connections_.erase(key);
    const auto of_user = per_user_.find(uid);
    if (of_user != per_user_.end() && --of_user->second == 0) per_user_.erase(of_user);
  }

  std::shared_ptr<House> house_;
  SocketFile file_;
  asio::posix::stream_descriptor descriptor_;
  asio::steady_timer pause_;
  std::map<std::uint64_t, std::shared_ptr<Connection>> connections_;
  std::map<std::uint32_t, std::size_t> per_user_;
  std::uint64_t last_key_ = 0;
};

Server::Server(std::shared_ptr<Listener> listener) : listener_(std::move(listener)) {}

Server::~Server() { listener_->stop(); }

Result<std::unique_ptr<Server>> Server::open(asio::io_context& loop, const ServerOptions& options,
                                             Doors doors) {
  auto file = listen_at(options.socket, options.mode);
  if (!file) return std::unexpected(file.error());
  auto listener = std::make_shared<Listener>(loop, options, std::move(doors), std::move(*file));
  listener->listen();
  return std::unique_ptr<Server>(new Server(std::move(listener)));
}

}  // namespace tangram::http
