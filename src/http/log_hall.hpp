// LogHall: the thread in which logs are read. A disk may take long, and the scheduler's loop has
// better things to do than to wait for it. One rule: nothing of the daemon is in it; what is read
// belongs to the thread until it was read, and to the loop again from then on.
#pragma once

#include <atomic>
#include <functional>

#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>

namespace tangram::http {

class LogHall {
 public:
  explicit LogHall(boost::asio::io_context& loop);
  ~LogHall();
  LogHall(const LogHall&) = delete;
  LogHall& operator=(const LogHall&) = delete;
  LogHall(LogHall&&) = delete;
  LogHall& operator=(LogHall&&) = delete;

  // `read` in the thread, one at a time, in the order they were asked for; `then` on the loop.
  void ask(std::function<void()> read, std::function<void()> then);
  // Awaits what is being read; nothing else is read after it.
  void close();

 private:
  boost::asio::io_context& loop_;
  std::atomic<bool> is_closed_ = false;
  boost::asio::thread_pool thread_{1};
};

}  // namespace tangram::http
