// See control.hpp.
#include "endpoint/relay/control.hpp"

#include <cerrno>
#include <sys/socket.h>
#include <utility>
#include <vector>

#include "api/run_spec.hpp"
#include "os/local_socket.hpp"

namespace tangram::endpoint {
namespace {

namespace asio = boost::asio;

bool is_trusted(int socket, uid_t user) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  return peer.uid == 0 || peer.uid == user;
}

}  // namespace

Result<os::Descriptor> open_control(int folder) {
  // Replaces the socket of an earlier endpoint; the folder's lock guarantees that it has ended.
  return os::listen_in(folder, api::kControlSocket, "the control socket of the endpoint",
                       static_cast<int>(Control::kMaxClients));
}

class Control::Client final : public std::enable_shared_from_this<Client>, public Socket::Owner {
 public:
  Client(Control& control, ClientId id, std::shared_ptr<Socket> socket)
      : control_(control), id_(id), socket_(std::move(socket)) {
    socket_->set_owner(this);
  }
  ~Client() override { socket_->close(); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  Client(Client&&) = delete;
  Client& operator=(Client&&) = delete;

  void read() { socket_->read(kMaxLine + 1); }
  // False: the client has not read more than kMaxUnsent bytes.
  [[nodiscard]] bool send(std::string_view line) {
    unsent_ += line;
    unsent_ += '\n';
    unsent_.erase(0, socket_->send(unsent_));
    return unsent_.size() <= kMaxUnsent;
  }

 private:
  void on_bytes(Socket& /*socket*/) override {
    const auto self = shared_from_this();
    take_lines();
    if (!control_.clients_.contains(id_)) return;
    if (socket_->in.size() > kMaxLine) {
      control_.send(id_, R"({"error":"line too long: the limit is 65536 bytes; disconnecting"})");
      control_.drop(id_);
      return;
    }
    if (socket_->has_ended()) {
      control_.drop(id_);
      return;
    }
    read();
  }
  void on_writable(Socket& /*socket*/) override {
    unsent_.erase(0, socket_->send(unsent_));
    if (socket_->is_broken()) control_.drop(id_);
  }
  void on_connected(Socket& /*socket*/, bool /*connected*/) override {}

  void take_lines() {
    for (std::size_t end = 0; (end = socket_->in.view().find('\n')) != std::string_view::npos;) {
      const std::string line(socket_->in.view().substr(0, end));
      socket_->in.consume(end + 1);
      control_.callbacks_.on_line(id_, line);
      if (!control_.clients_.contains(id_)) return;  // dropped by the callback
    }
  }

  Control& control_;
  ClientId id_;
  std::shared_ptr<Socket> socket_;
  std::string unsent_;
};

Control::Control(asio::io_context& loop, os::Descriptor socket, uid_t user, Callbacks callbacks)
    : loop_(loop),
      socket_(loop, socket.release()),
      pause_(loop),
      user_(user),
      callbacks_(std::move(callbacks)) {
  listen();
}

Control::~Control() = default;

void Control::listen() {
  socket_.async_wait(asio::posix::stream_descriptor::wait_read,
                     [this](boost::system::error_code status) {
                       if (!status) accept_all();
                     });
}

void Control::accept_all() {
  // Bounded, so that clients that connect and disconnect in a loop do not starve the event loop.
  for (std::size_t i = 0; i < kMaxClients; ++i) {
    os::Descriptor taken(
        ::accept4(socket_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!taken.ok() && (errno == EMFILE || errno == ENFILE)) {
      pause_.expires_after(kExhaustedRetryDelay);
      pause_.async_wait([this](boost::system::error_code status) {
        if (!status) listen();
      });
      return;
    }
    if (!taken.ok()) break;
    if (!is_trusted(taken.get(), user_) || clients_.size() >= kMaxClients) continue;
    const auto socket = std::make_shared<Socket>(loop_, nullptr);
    if (socket->adopt(taken.release(), AF_UNIX) != 0) continue;  // the client reconnects
    const ClientId id = next_client_++;
    const auto client = std::make_shared<Client>(*this, id, socket);
    clients_.emplace(id, client);
    send(id, callbacks_.greeting());
    client->read();
  }
  listen();
}

void Control::send(ClientId id, std::string_view line) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  if (!found->second->send(line)) drop(id);
}

void Control::broadcast(std::string_view line) {
  std::vector<ClientId> ids;
  for (const auto& [id, client] : clients_) ids.push_back(id);
  for (const ClientId id : ids) send(id, line);
}

void Control::drop(ClientId id) { clients_.erase(id); }

}  // namespace tangram::endpoint
