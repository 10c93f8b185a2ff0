// See control.hpp.
#include "endpoint/control.hpp"

#include <cerrno>
#include <sys/socket.h>
#include <utility>
#include <vector>

#include "api/run_spec.hpp"
#include "files/local_socket.hpp"

namespace tangram::endpoint {
namespace {

namespace asio = boost::asio;

constexpr auto kExhausted = std::chrono::milliseconds(100);

bool is_trusted(int socket, uid_t user) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  return peer.uid == 0 || peer.uid == user;
}

}  // namespace

Result<files::Descriptor> open_control(int folder) {
  // One that an earlier endpoint left is replaced; the lock says there is no other now.
  return files::listen_in(folder, api::kControlSocket, "the control socket of the endpoint",
                          static_cast<int>(Control::kMostClients));
}

class Control::Client final : public std::enable_shared_from_this<Client>, public Wire::Owner {
 public:
  Client(Control& control, ClientId id, std::shared_ptr<Wire> wire)
      : control_(control), id_(id), wire_(std::move(wire)) {
    wire_->set_owner(this);
  }
  ~Client() { wire_->close(); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  Client(Client&&) = delete;
  Client& operator=(Client&&) = delete;

  void read() { wire_->read(kLongestLine + 1); }
  // False: it has too much unsent.
  [[nodiscard]] bool send(std::string_view line) {
    unsent_ += line;
    unsent_ += '\n';
    unsent_.erase(0, wire_->send(unsent_));
    return unsent_.size() <= kMostUnsent;
  }

 private:
  void on_bytes(Wire& /*wire*/) override {
    const auto self = shared_from_this();
    take_lines();
    if (!control_.clients_.contains(id_)) return;
    if (wire_->in.size() > kLongestLine) {
      control_.send(id_, R"({"error":"a line may have 65536 bytes; this client is dropped."})");
      return control_.drop(id_);
    }
    if (wire_->ended()) return control_.drop(id_);
    read();
  }
  void on_room(Wire& /*wire*/) override {
    unsent_.erase(0, wire_->send(unsent_));
    if (wire_->broken()) control_.drop(id_);
  }
  void on_connected(Wire& /*wire*/, bool /*connected*/) override {}

  void take_lines() {
    for (std::size_t end = 0; (end = wire_->in.view().find('\n')) != std::string_view::npos;) {
      const std::string line(wire_->in.view().substr(0, end));
      wire_->in.consume(end + 1);
      control_.callbacks_.line(id_, line);
      if (!control_.clients_.contains(id_)) return;  // dropped while it was answered
    }
  }

  Control& control_;
  ClientId id_;
  std::shared_ptr<Wire> wire_;
  std::string unsent_;
};

Control::Control(asio::io_context& loop, files::Descriptor socket, uid_t user, Callbacks callbacks)
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
                       if (!status) take_all();
                     });
}

void Control::take_all() {
  // Not endlessly: who connects and leaves in a circle must not hold up the rest.
  for (std::size_t i = 0; i < kMostClients; ++i) {
    files::Descriptor taken(
        ::accept4(socket_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!taken.ok() && (errno == EMFILE || errno == ENFILE)) {
      pause_.expires_after(kExhausted);
      pause_.async_wait([this](boost::system::error_code status) {
        if (!status) listen();
      });
      return;
    }
    if (!taken.ok()) break;
    if (!is_trusted(taken.get(), user_) || clients_.size() >= kMostClients) continue;
    const auto wire = std::make_shared<Wire>(loop_, nullptr);
    if (wire->adopt(taken.release(), AF_UNIX) != 0) continue;  // he comes again
    const ClientId id = next_client_++;
    const auto client = std::make_shared<Client>(*this, id, wire);
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
