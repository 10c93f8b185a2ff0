// See log_watcher.hpp.
#include "http/logs/log_watcher.hpp"

#include <cstring>
#include <map>
#include <sys/inotify.h>
#include <tuple>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

namespace tangram::http {

namespace asio = boost::asio;

class LogWatcher::Instance : public std::enable_shared_from_this<Instance> {
 public:
  Instance(asio::io_context& loop, int fd) : descriptor_(loop) {
    if (fd >= 0) descriptor_.assign(fd);
  }

  std::shared_ptr<void> watch(const std::string& folder, std::function<void()> notify) {
    if (!descriptor_.is_open()) return nullptr;
    constexpr std::uint32_t kEvents =
        IN_MODIFY | IN_CLOSE_WRITE | IN_CREATE | IN_MOVED_TO | IN_DELETE_SELF | IN_ONLYDIR;
    const int watch = ::inotify_add_watch(descriptor_.native_handle(), folder.c_str(), kEvents);
    if (watch < 0) return nullptr;
    const std::uint64_t key = ++last_key_;
    callbacks_[watch].emplace(key, std::move(notify));
    if (!is_waiting_) await_events();
    const auto release = [weak = weak_from_this(), watch, key](void*) {
      if (const auto self = weak.lock()) self->remove(watch, key);
    };
    return {this, release};
  }

  void close() {
    boost::system::error_code ignored;
    std::ignore = descriptor_.close(ignored);
    callbacks_.clear();
  }
  [[nodiscard]] std::size_t folders() const { return callbacks_.size(); }

 private:
  void remove(int watch, std::uint64_t key) {
    const auto found = callbacks_.find(watch);
    if (found == callbacks_.end()) return;
    found->second.erase(key);
    if (!found->second.empty()) return;
    callbacks_.erase(found);
    if (descriptor_.is_open()) ::inotify_rm_watch(descriptor_.native_handle(), watch);
  }

  void await_events() {
    is_waiting_ = true;
    descriptor_.async_wait(asio::posix::stream_descriptor::wait_read,
                           [self = shared_from_this()](boost::system::error_code status) {
                             if (status) return;
                             self->read_events();
                             self->await_events();
                           });
  }

  void read_events() {
    alignas(inotify_event) char buffer[16 * 1024];
    const ssize_t size = ::read(descriptor_.native_handle(), buffer, sizeof buffer);
    for (ssize_t at = 0; at + static_cast<ssize_t>(sizeof(inotify_event)) <= size;) {
      inotify_event event{};
      std::memcpy(&event, buffer + at, sizeof event);
      at += static_cast<ssize_t>(sizeof event + event.len);
      if ((event.mask & IN_Q_OVERFLOW) != 0) {
        for (const auto& [watch, callbacks] : callbacks_) notify_all(callbacks);
      } else if (const auto found = callbacks_.find(event.wd); found != callbacks_.end()) {
        notify_all(found->second);
      }
    }
  }

  using Callbacks = std::map<std::uint64_t, std::function<void()>>;
  static void notify_all(const Callbacks& callbacks) {
    for (const auto& [key, call] : callbacks) call();
  }

  asio::posix::stream_descriptor descriptor_;
  std::map<int, Callbacks> callbacks_;
  std::uint64_t last_key_ = 0;
  bool is_waiting_ = false;
};

LogWatcher::LogWatcher(asio::io_context& loop)
    : instance_(std::make_shared<Instance>(loop, ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC))) {}

LogWatcher::~LogWatcher() { instance_->close(); }

void LogWatcher::close() { instance_->close(); }

std::shared_ptr<void> LogWatcher::watch(const std::string& folder, std::function<void()> notify) {
  return instance_->watch(folder, std::move(notify));
}

std::size_t LogWatcher::folders() const { return instance_->folders(); }

}  // namespace tangram::http
