// See tls_hall.hpp.
#include "http/tls_hall.hpp"

#include <chrono>
#include <csignal>
#include <pthread.h>

namespace tangram::http {
namespace {

// Signals are the daemon's.
void block_signals() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

}  // namespace

TlsHall::TlsHall() : work_(boost::asio::make_work_guard(loop_)) {
  std::packaged_task<void()> serve([this] {
    block_signals();
    loop_.run();
  });
  empty_ = serve.get_future();
  thread_ = std::thread(std::move(serve));
}

TlsHall::~TlsHall() { close(); }

void TlsHall::close() {
  if (!thread_.joinable()) return;
  work_.reset();
  constexpr auto kPatience = std::chrono::seconds(2);
  if (empty_.wait_for(kPatience) != std::future_status::ready) loop_.stop();
  thread_.join();
}

}  // namespace tangram::http
