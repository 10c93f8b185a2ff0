// See log_read_thread.hpp.
#include "http/logs/log_read_thread.hpp"

#include <csignal>
#include <pthread.h>
#include <utility>

#include <boost/asio/post.hpp>

namespace tangram::http {
namespace {

// Signals are handled by the daemon's main thread.
void block_signals() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

}  // namespace

LogReadThread::LogReadThread(boost::asio::io_context& loop) : loop_(loop) {
  boost::asio::post(thread_, block_signals);
}

LogReadThread::~LogReadThread() { close(); }

void LogReadThread::run(std::function<void()> read, std::function<void()> on_done) {
  if (is_closed_) return;
  boost::asio::post(thread_,
                    [this, read = std::move(read), on_done = std::move(on_done)]() mutable {
                      if (is_closed_) return;
                      read();
                      boost::asio::post(loop_, std::move(on_done));
                    });
}

void LogReadThread::close() {
  is_closed_ = true;
  thread_.join();
}

}  // namespace tangram::http
