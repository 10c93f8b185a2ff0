// See tls_thread.hpp.
#include "http/server/tls_thread.hpp"

#include <chrono>
#include <csignal>
#include <pthread.h>

namespace tangram::http {
namespace {

// Signals are handled by the daemon's main thread.
void block_signals() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

}  // namespace

TlsThread::TlsThread() : work_(boost::asio::make_work_guard(loop_)) {
  std::packaged_task<void()> serve([this] {
    block_signals();
    loop_.run();
  });
  finished_ = serve.get_future();
  thread_ = std::thread(std::move(serve));
}

TlsThread::~TlsThread() { close(); }

void TlsThread::close() {
  if (!thread_.joinable()) return;
  work_.reset();
  constexpr auto kTimeout = std::chrono::seconds(2);
  if (finished_.wait_for(kTimeout) != std::future_status::ready) loop_.stop();
  thread_.join();
}

}  // namespace tangram::http
