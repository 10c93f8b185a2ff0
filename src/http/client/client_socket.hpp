// ClientSocket: a blocking connection to the daemon over a unix socket or TLS, with the interface
// of Beast's SyncStream. Private to the client. Every wait has a timeout and can be ended from
// another thread.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include <boost/asio/buffer.hpp>
#include <boost/system/system_error.hpp>

#include "base/error.hpp"
#include "http/client/client.hpp"

struct ssl_st;
struct ssl_ctx_st;

namespace tangram::http {

[[nodiscard]] inline boost::system::error_code system_status(int number) {
  return {number, boost::system::system_category()};
}

class ClientSocket {
 public:
  using Status = boost::system::error_code;

  // `stop`: a descriptor that becomes readable to end all waits (ECANCELED). Not owned.
  [[nodiscard]] static Result<std::unique_ptr<ClientSocket>> connect(const std::string& where,
                                                                     const ClientOptions& options,
                                                                     int stop);
  ~ClientSocket();
  ClientSocket(const ClientSocket&) = delete;
  ClientSocket& operator=(const ClientSocket&) = delete;
  ClientSocket(ClientSocket&&) = delete;
  ClientSocket& operator=(ClientSocket&&) = delete;

  // Limits each read and write; zero: no limit.
  void set_timeout(std::chrono::milliseconds timeout) { timeout_ = timeout; }
  // Whether the server has closed the connection. Only between a reply and the next request.
  [[nodiscard]] bool is_closed_by_peer();

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
    long count = 0;   // > 0: bytes transferred; 0: end of stream; < 0: see the others
    short wants = 0;  // poll() event to wait for before trying again; 0: failed
    int failure = 0;  // errno
  };
  ClientSocket(int fd, int stop) : fd_(fd), stop_(stop) {}

  [[nodiscard]] Result<void> connect_unix(const std::string& path) const;
  [[nodiscard]] Result<void> start_tls(const std::string& host, const ClientOptions& options);
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
  std::chrono::milliseconds timeout_{0};
  std::unique_ptr<ssl_ctx_st, FreeContext> context_;
  std::unique_ptr<ssl_st, FreeSsl> ssl_;
};

}  // namespace tangram::http
