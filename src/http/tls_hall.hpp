// TlsHall: the thread in which TLS is spoken with callers from afar. A handshake is work of a
// millisecond, and whoever likes can ask for one: the scheduler's loop has better things to do. One
// rule: nothing of the daemon is in it, only sockets and their bytes.
#pragma once

#include <future>
#include <optional>
#include <thread>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

namespace tangram::http {

class TlsHall {
 public:
  TlsHall();
  ~TlsHall();
  TlsHall(const TlsHall&) = delete;
  TlsHall& operator=(const TlsHall&) = delete;
  TlsHall(TlsHall&&) = delete;
  TlsHall& operator=(TlsHall&&) = delete;

  [[nodiscard]] boost::asio::io_context& loop() { return loop_; }
  // Waits for those inside, who must have been told to leave.
  void close();

 private:
  using Work = boost::asio::executor_work_guard<boost::asio::io_context::executor_type>;
  boost::asio::io_context loop_{1};
  std::optional<Work> work_;
  std::future<void> empty_;
  std::thread thread_;
};

}  // namespace tangram::http
