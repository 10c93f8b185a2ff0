// Wire: one connection, to a client, to a replica or to a daemon, as its owner sees it: bytes that
// came, bytes that go now, and a call when there is more of either. One rule: nothing here waits,
// and nothing is read that the owner has no room for.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>

#include "endpoint/buffer.hpp"

namespace tangram::endpoint {

class Wire : public std::enable_shared_from_this<Wire> {
 public:
  class Owner {
   public:
    virtual void on_bytes(Wire& wire) = 0;  // there is more in `in`, or the end came
    virtual void on_room(Wire& wire) = 0;   // what was blocked can be sent, or is broken
    virtual void on_connected(Wire& wire, bool connected) = 0;

   protected:
    ~Owner() = default;
  };

  Wire(boost::asio::io_context& loop, Owner* owner) : socket_(loop), owner_(owner) {}

  // Takes over a connection: of AF_INET, AF_INET6 or AF_UNIX. Gives 0, or the code of what failed;
  // then the descriptor is closed.
  [[nodiscard]] int adopt(int descriptor, int family);
  // Begins a connection to 127.0.0.1:port.
  void connect(std::uint16_t port);

  // Every byte is counted there, as it comes and goes.
  void count(std::uint64_t& received, std::uint64_t& sent) {
    received_ = &received;
    sent_ = &sent;
  }

  // none: nobody is called any more. Whoever owns a wire takes himself out before he goes.
  void set_owner(Owner* owner) { owner_ = owner; }

  // Reads once, so that `in` has at most `limit` bytes; unless a read is under way already, the end
  // came, or there is no room.
  void read(std::size_t limit);
  // As much of both as goes now, in this order. What does not is announced by on_room().
  std::size_t send(std::string_view first, std::string_view second = {});
  // Nothing more will be sent.
  void finish();
  // `reset`: the other side must not take it for a proper end.
  void close(bool reset = false);

  [[nodiscard]] bool ended() const { return ended_; }  // no byte more will come
  // The same, seen also behind bytes that there is no room for yet.
  [[nodiscard]] bool has_left();
  // Nothing came that is not in `in` yet, not even the end: as the kernel knows it now.
  [[nodiscard]] bool is_silent();
  [[nodiscard]] bool failed() const { return failed_; }  // and it was no proper end
  [[nodiscard]] bool broken() const { return broken_; }  // nothing can be sent any more
  [[nodiscard]] bool finished() const { return finished_; }
  [[nodiscard]] bool is_reading() const { return is_reading_; }

  Buffer in;

 private:
  using Executor = boost::asio::io_context::executor_type;
  using Socket = boost::asio::basic_stream_socket<boost::asio::generic::stream_protocol, Executor>;

  void on_read(boost::system::error_code status, std::size_t count);
  void block();

  Socket socket_;
  Owner* owner_;
  std::uint64_t* received_ = nullptr;
  std::uint64_t* sent_ = nullptr;
  bool is_reading_ = false;
  bool is_blocked_ = false;
  bool ended_ = false;
  bool failed_ = false;
  bool broken_ = false;
  bool finished_ = false;
};

// Passes on what came and, after it, the proper end of it: one direction of a relay of bytes.
// False: one of both is broken.
[[nodiscard]] bool pass(Wire& from, Wire& to);

}  // namespace tangram::endpoint
