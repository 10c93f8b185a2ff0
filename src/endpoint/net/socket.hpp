// Socket: a non-blocking stream connection to a client, a replica or a daemon. Received bytes are
// in `in`; send() writes what the kernel accepts at once; the owner is called back when more bytes
// arrived or sending is possible again. Reads happen on request only, which gives back-pressure:
// an owner that stops calling read() stops the sender. Used on the event loop only.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>

#include "endpoint/net/buffer.hpp"

namespace tangram::endpoint {

// How long a listening socket accepts nothing after accept() failed for want of descriptors.
inline constexpr auto kExhaustedRetryDelay = std::chrono::milliseconds(100);

class Socket : public std::enable_shared_from_this<Socket> {
 public:
  class Owner {
   public:
    Owner() = default;
    virtual ~Owner() = default;
    Owner(const Owner&) = delete;
    Owner& operator=(const Owner&) = delete;
    Owner(Owner&&) = delete;
    Owner& operator=(Owner&&) = delete;

    // A read() finished: `in` has new bytes, or has_ended() is true.
    virtual void on_bytes(Socket& socket) = 0;
    // After a partial send(): more can be sent, or the connection is broken.
    virtual void on_writable(Socket& socket) = 0;
    // The result of connect().
    virtual void on_connected(Socket& socket, bool connected) = 0;
  };

  Socket(boost::asio::io_context& loop, Owner* owner) : socket_(loop), owner_(owner) {}

  // Takes ownership of a connected descriptor of AF_INET, AF_INET6 or AF_UNIX. Returns 0, or an
  // errno value; the descriptor is then closed.
  [[nodiscard]] int adopt(int descriptor, int family);
  // The open descriptor; this socket keeps it.
  [[nodiscard]] int descriptor() { return socket_.native_handle(); }
  // Starts connecting to 127.0.0.1:port; ends with on_connected().
  void connect(std::uint16_t port);

  // Adds received and sent bytes to these counters, which must outlive the socket.
  void count_bytes(std::uint64_t& received, std::uint64_t& sent) {
    received_ = &received;
    sent_ = &sent;
  }

  // Null: no more callbacks. An owner must call this (or close()) before it is destroyed.
  void set_owner(Owner* owner) { owner_ = owner; }

  // Starts one read that leaves at most `limit` bytes in `in`. No-op while a read is in progress,
  // after the end of input, or if `in` is full.
  void read(std::size_t limit);
  // Sends as much of both, in this order, as the kernel accepts now; returns the number of bytes.
  // If that is not everything, on_writable() follows.
  std::size_t send(std::string_view first, std::string_view second = {});
  // Half-close: no more bytes will be sent (FIN); receiving continues.
  void half_close();
  // Closes both directions. `reset`: with RST, so that the peer does not take it for a proper EOF.
  void close(bool reset = false);

  [[nodiscard]] bool has_ended() const { return ended_; }  // no more input: EOF or error
  // Whether the peer has half-closed or closed, even if its FIN is behind bytes not read yet.
  [[nodiscard]] bool has_peer_half_closed();
  // Whether the connection is open and the kernel has no unread input for it, not even EOF.
  [[nodiscard]] bool is_open_and_quiet();
  [[nodiscard]] bool has_failed() const { return failed_; }  // input ended with an error, not EOF
  [[nodiscard]] bool is_broken() const { return broken_; }   // sending failed
  [[nodiscard]] bool is_half_closed() const { return is_half_closed_; }  // by half_close()
  [[nodiscard]] bool is_reading() const { return is_reading_; }

  Buffer in;

 private:
  using Executor = boost::asio::io_context::executor_type;
  using AsioSocket =
      boost::asio::basic_stream_socket<boost::asio::generic::stream_protocol, Executor>;

  void on_read(boost::system::error_code status, std::size_t count);
  void wait_writable();

  AsioSocket socket_;
  Owner* owner_;
  std::uint64_t* received_ = nullptr;
  std::uint64_t* sent_ = nullptr;
  bool is_reading_ = false;
  bool is_blocked_ = false;
  bool ended_ = false;
  bool failed_ = false;
  bool broken_ = false;
  bool is_half_closed_ = false;
};

// Relays one direction: sends what `from` received to `to`, then half-closes `to` after EOF.
// False: one of the two connections failed.
[[nodiscard]] bool relay_bytes(Socket& from, Socket& to);

}  // namespace tangram::endpoint
