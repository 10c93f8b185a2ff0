// See control.hpp.
#include "shim/control.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "api/run_spec.hpp"
#include "os/local_socket.hpp"

namespace tangram::shim {
namespace {

// Only the shim's own user and root may connect.
bool is_trusted(int socket) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  return peer.uid == 0 || peer.uid == ::geteuid();
}

}  // namespace

Result<Control> Control::open(int folder) {
  // Replaces the socket of an earlier shim that ended before it started the job; the lock excludes
  // a running one.
  auto socket = os::listen_in(folder, api::kControlSocket, "the control socket of the run",
                              static_cast<int>(kMaxClients));
  if (!socket) return std::unexpected(socket.error());
  return Control(folder, *std::move(socket));
}

void Control::watch(PollSet& polls, const Callbacks& callbacks) {
  if (socket_.ok()) {
    polls.watch(socket_.get(), POLLIN, [this, &callbacks] { accept_all(callbacks); });
  }
  for (const auto& [id, client] : clients_) {
    const auto events = static_cast<short>(client.unsent.empty() ? POLLIN : POLLIN | POLLOUT);
    polls.watch(client.socket.get(), events, [this, id, &callbacks] { on_ready(id, callbacks); });
  }
}

void Control::accept_all(const Callbacks& callbacks) {
  // Bounded: a client that connects and disconnects all the time must not starve other work.
  for (std::size_t i = 0; i < kMaxClients; ++i) {
    os::Descriptor socket(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.ok()) return;
    if (!is_trusted(socket.get()) || clients_.size() >= kMaxClients) continue;
    const ClientId id = next_client_++;
    clients_.emplace(id, Client{.socket = std::move(socket)});
    send(id, callbacks.make_greeting());
  }
}

void Control::on_ready(ClientId id, const Callbacks& callbacks) {
  if (!clients_.contains(id)) return;
  flush(id);
  if (clients_.contains(id) && !receive(id, callbacks)) drop(id);
}

// False: disconnect the client.
bool Control::receive(ClientId id, const Callbacks& callbacks) {
  static std::array<char, 16'384> buffer;
  Client& client = clients_.at(id);
  const ssize_t count = ::recv(client.socket.get(), buffer.data(), buffer.size(), 0);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  if (count == 0) return false;
  client.received.append(buffer.data(), static_cast<std::size_t>(count));
  std::string received = std::exchange(client.received, {});
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = received.find('\n', begin)) != std::string::npos;
       begin = end + 1) {
    if (end - begin > kMaxLineBytes) break;  // rejected below
    callbacks.on_line(id, std::string_view(received).substr(begin, end - begin));
    if (!clients_.contains(id)) return true;  // disconnected by the callback
  }
  received.erase(0, begin);
  if (received.size() > kMaxLineBytes) {
    send(id, R"({"error":"line longer than 65536 bytes: disconnected."})");
    return false;
  }
  clients_.at(id).received = std::move(received);
  return true;
}

void Control::send(ClientId id, std::string_view line) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  if (found->second.is_closed) return;
  found->second.unsent += line;
  found->second.unsent += '\n';
  flush(id);
}

void Control::broadcast(std::string_view line) {
  std::vector<ClientId> ids;
  for (const auto& [id, client] : clients_) ids.push_back(id);
  for (const ClientId id : ids) send(id, line);
}

void Control::flush(ClientId id) {
  Client& client = clients_.at(id);
  while (!client.unsent.empty()) {
    const ssize_t count = ::send(client.socket.get(), client.unsent.data(), client.unsent.size(),
                                 MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) break;
    if (count < 0) client.is_closed = true;
    if (client.is_closed) client.unsent.clear();
    if (count > 0) client.unsent.erase(0, static_cast<std::size_t>(count));
  }
  if (client.unsent.size() > kMaxUnsentBytes) drop(id);
}

void Control::close(std::chrono::milliseconds timeout) {
  ::unlinkat(folder_, api::kControlSocket, 0);
  socket_ = os::Descriptor(-1);
  const Moment deadline = boot_now() + timeout;
  Alarm alarm;
  while (boot_now() < deadline) {
    std::erase_if(clients_, [](const auto& entry) { return entry.second.unsent.empty(); });
    if (clients_.empty()) return;
    PollSet polls;
    alarm.set(deadline);
    alarm.watch(polls);
    for (const auto& [id, client] : clients_) {
      polls.watch(client.socket.get(), POLLOUT, [this, id] { flush(id); });
    }
    polls.wait(true);
  }
  clients_.clear();
}

}  // namespace tangram::shim
