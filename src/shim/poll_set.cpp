// See poll_set.hpp.
#include "shim/poll_set.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <sys/timerfd.h>
#include <unistd.h>
#include <utility>

#include "base/check.hpp"

namespace tangram::shim {

void PollSet::watch(int fd, short events, std::function<void()> ready) {
  polled_.push_back({.fd = fd, .events = events, .revents = 0});
  callbacks_.push_back(std::move(ready));
}

void PollSet::wait(bool may_block) {
  const std::vector<pollfd> before = std::exchange(polled_, {});
  const std::vector<std::function<void()>> callbacks = std::exchange(callbacks_, {});
  std::vector<pollfd> now = before;
  const int count = ::poll(now.data(), now.size(), may_block ? -1 : 0);
  CHECK(count >= 0 || errno == EINTR);
  if (count <= 0) return;
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (now[i].revents != 0) callbacks[i]();
  }
}

Alarm::Alarm() : timer_(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)) {
  CHECK(timer_.ok());
}

void Alarm::set(std::optional<Moment> when) {
  if (when == when_) return;
  when_ = when;
  itimerspec setting{};  // all zero: off
  if (when) {
    // A time in the past fires now; zero would disarm the timer.
    const std::int64_t count = std::max<std::int64_t>(when->time_since_epoch().count(), 1);
    constexpr std::int64_t kSecond = 1'000'000'000;
    setting.it_value = {.tv_sec = count / kSecond, .tv_nsec = count % kSecond};
  }
  CHECK(::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &setting, nullptr) == 0);
}

void Alarm::watch(PollSet& polls) {
  polls.watch(timer_.get(), POLLIN, [this] {
    std::uint64_t times = 0;
    [[maybe_unused]] const ssize_t size = ::read(timer_.get(), &times, sizeof(times));
    when_.reset();
  });
}

}  // namespace tangram::shim
