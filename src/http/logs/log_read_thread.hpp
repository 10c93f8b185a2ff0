// LogReadThread: the thread that reads log files, so that a slow disk does not block the event
// loop. It has no access to the daemon's state. What a `read` uses belongs to the thread until its
// `on_done` is called on the loop.
#pragma once

#include <atomic>
#include <functional>

#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>

namespace tangram::http {

class LogReadThread {
 public:
  explicit LogReadThread(boost::asio::io_context& loop);
  ~LogReadThread();
  LogReadThread(const LogReadThread&) = delete;
  LogReadThread& operator=(const LogReadThread&) = delete;
  LogReadThread(LogReadThread&&) = delete;
  LogReadThread& operator=(LogReadThread&&) = delete;

  // Runs `read` in the thread, one at a time and in order, and then `on_done` on the loop. After
  // close(), neither is called.
  void run(std::function<void()> read, std::function<void()> on_done);
  // Waits for the `read` that is running and drops the queued ones.
  void close();

 private:
  boost::asio::io_context& loop_;
  std::atomic<bool> is_closed_ = false;
  boost::asio::thread_pool thread_{1};
};

}  // namespace tangram::http
