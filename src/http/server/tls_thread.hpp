// TlsThread: the thread that runs TLS for TCP clients. A handshake takes about a millisecond of CPU
// time and needs no authentication, so handshakes must not run on the daemon's event loop. The
// thread handles sockets and bytes only and has no access to the daemon's state.
#pragma once

#include <future>
#include <optional>
#include <thread>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

namespace tangram::http {

class TlsThread {
 public:
  TlsThread();
  ~TlsThread();
  TlsThread(const TlsThread&) = delete;
  TlsThread& operator=(const TlsThread&) = delete;
  TlsThread(TlsThread&&) = delete;
  TlsThread& operator=(TlsThread&&) = delete;

  // The thread's own event loop.
  [[nodiscard]] boost::asio::io_context& loop() { return loop_; }
  // Waits for a bounded time until its connections, which must have been closed, have finished;
  // then stops the thread.
  void close();

 private:
  using Work = boost::asio::executor_work_guard<boost::asio::io_context::executor_type>;
  boost::asio::io_context loop_{1};
  std::optional<Work> work_;
  std::future<void> finished_;
  std::thread thread_;
};

}  // namespace tangram::http
