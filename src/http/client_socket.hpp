// ClientSocket: a connection to the daemon, through a unix socket or TLS, as Beast wants it.
// Private to the client. One rule: every wait has a deadline and can be ended from another thread.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include <boost/asio/buffer.hpp>
#include <boost/system/system_error.hpp>

#include "base/error.hpp"
#include "http/client.hpp"

struct ssl_st;
struct ssl_ctx_st;

namespace tangram::http {

class ClientSocket {
 public:
  using Status = boost::system::error_code;

  // `stop` is a descriptor that becomes readable when all waits are to end.
  [[nodiscard]] static Result<std::unique_ptr<ClientSocket>> connect(const std::string& where,
                                                                     const ClientOptions& options,
                                                                     int stop);
  ~ClientSocket();
  ClientSocket(const ClientSocket&) = delete;
  ClientSocket& operator=(const ClientSocket&) = delete;
  ClientSocket(ClientSocket&&) = delete;
  ClientSocket& operator=(ClientSocket&&) = delete;

  // No deadline for a patience of zero.
  void set_patience(std::chrono::milliseconds patience) { patience_ = patience; }
  [[nodiscard]] bool is_closed_there();

  template <class Buffers>
  std::size_t read_some(const Buffers& buffers, Status& status) {
    const boost::asio::mutable_buffer first = *boost::asio::buffer_sequence_begin(buffers);
    return read(first.data(), first.size(), status);
  }
  template <class Buffers>
  std::size_t write_some(const Buffers& buffers, Status& status) {
    const auto end = boost::asio::buffer_sequence_end(buffers);
    for (auto at = boost::asio::buffer_sequence_begin(buffers); at != end; ++at) {
      const boost::asio::const_buffer part = *at;
      if (part.size() > 0) return write(part.data(), part.size(), status);
    }
    status = {};
    return 0;
  }
  template <class Buffers>
  std::size_t read_some(const Buffers& buffers) {
    Status status;
    const std::size_t size = read_some(buffers, status);
    if (status) throw boost::system::system_error(status);
    return size;
  }
  template <class Buffers>
  std::size_t write_some(const Buffers& buffers) {
    Status status;
    const std::size_t size = write_some(buffers, status);
    if (status) throw boost::system::system_error(status);
    return size;
  }

 private:
  using Clock = std::chrono::steady_clock;
  struct Attempt {
    long count = 0;   // > 0: so many bytes; 0: the end
    short wants = 0;  // poll()'s event to wait for; 0: nothing helps
    int failure = 0;  // errno
  };
  ClientSocket(int fd, int stop) : fd_(fd), stop_(stop) {}

  [[nodiscard]] Result<void> join(const std::string& path);
  [[nodiscard]] Result<void> begin_tls(const std::string& host, const ClientOptions& options);
  [[nodiscard]] std::string tls_reason(const Status& failure) const;
  [[nodiscard]] Attempt attempt_of(long count, short plain_wants) const;
  void transfer_handshake(Status& status);
  template <class Try>
  std::size_t transfer(const Try& attempt, Status& status);
  std::size_t read(void* data, std::size_t size, Status& status);
  std::size_t write(const void* data, std::size_t size, Status& status);
  [[nodiscard]] int wait(short events, Clock::time_point deadline) const;

  struct FreeSsl {
    void operator()(ssl_st* ssl) const;
  };
  struct FreeContext {
    void operator()(ssl_ctx_st* context) const;
  };

  int fd_;
  int stop_;
  std::chrono::milliseconds patience_{0};
  std::unique_ptr<ssl_ctx_st, FreeContext> context_;
  std::unique_ptr<ssl_st, FreeSsl> ssl_;
};

}  // namespace tangram::http
