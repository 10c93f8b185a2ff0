// See log_hall.hpp.
#include "http/log_hall.hpp"

#include <csignal>
#include <pthread.h>
#include <utility>

#include <boost/asio/post.hpp>

namespace tangram::http {
namespace {

// Signals are the daemon's.
void block_signals() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

}  // namespace

LogHall::LogHall(boost::asio::io_context& loop) : loop_(loop) {
  boost::asio::post(thread_, block_signals);
}

LogHall::~LogHall() { close(); }

void LogHall::ask(std::function<void()> read, std::function<void()> then) {
  if (is_closed_) return;
  boost::asio::post(thread_, [this, read = std::move(read), then = std::move(then)]() mutable {
    if (is_closed_) return;
    read();
    boost::asio::post(loop_, std::move(then));
  });
}

void LogHall::close() {
  is_closed_ = true;
  thread_.join();
}

}  // namespace tangram::http
