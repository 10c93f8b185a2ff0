// See watcher.hpp.
#include "http/watcher.hpp"

#include <cstring>
#include <map>
#include <sys/inotify.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

namespace tangram::http {

namespace asio = boost::asio;

class Watcher::Instance : public std::enable_shared_from_this<Instance> {
 public:
  Instance(asio::io_context& loop, int fd) : descriptor_(loop) {
    if (fd >= 0) descriptor_.assign(fd);
  }

  std::shared_ptr<void> watch(const std::string& folder, std::function<void()> ring) {
    if (!descriptor_.is_open()) return nullptr;
    constexpr std::uint32_t kEvents =
        IN_MODIFY | IN_CLOSE_WRITE | IN_CREATE | IN_MOVED_TO | IN_DELETE_SELF | IN_ONLYDIR;
    const int watch = ::inotify_add_watch(descriptor_.native_handle(), folder.c_str(), kEvents);
    if (watch < 0) return nullptr;
    const std::uint64_t key = ++last_key_;
    rings_[watch].emplace(key, std::move(ring));
    if (!listening_) listen();
    const auto forget = [weak = weak_from_this(), watch, key](void*) {
      if (const auto self = weak.lock()) self->forget(watch, key);
    };
    return {this, forget};
  }

  void close() {
    boost::system::error_code ignored;
    descriptor_.close(ignored);
    rings_.clear();
  }
  [[nodiscard]] std::size_t folders() const { return rings_.size(); }

 private:
  void forget(int watch, std::uint64_t key) {
    const auto found = rings_.find(watch);
    if (found == rings_.end()) return;
    found->second.erase(key);
    if (!found->second.empty()) return;
    rings_.erase(found);
    if (descriptor_.is_open()) ::inotify_rm_watch(descriptor_.native_handle(), watch);
  }

  void listen() {
    listening_ = true;
    descriptor_.async_wait(asio::posix::stream_descriptor::wait_read,
                           [self = shared_from_this()](boost::system::error_code status) {
                             if (status) return;
                             self->hear();
                             self->listen();
                           });
  }

  void hear() {
    alignas(inotify_event) char room[16 * 1024];
    const ssize_t size = ::read(descriptor_.native_handle(), room, sizeof room);
    for (ssize_t at = 0; at + static_cast<ssize_t>(sizeof(inotify_event)) <= size;) {
      inotify_event event{};
      std::memcpy(&event, room + at, sizeof event);
      at += static_cast<ssize_t>(sizeof event + event.len);
      if ((event.mask & IN_Q_OVERFLOW) != 0) {
        for (const auto& [watch, rings] : rings_) ring(rings);
      } else if (const auto found = rings_.find(event.wd); found != rings_.end()) {
        ring(found->second);
      }
    }
  }

  using Rings = std::map<std::uint64_t, std::function<void()>>;
  static void ring(const Rings& rings) {
    for (const auto& [key, call] : rings) call();
  }

  asio::posix::stream_descriptor descriptor_;
  std::map<int, Rings> rings_;
  std::uint64_t last_key_ = 0;
  bool listening_ = false;
};

Watcher::Watcher(asio::io_context& loop)
    : instance_(std::make_shared<Instance>(loop, ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC))) {}

Watcher::~Watcher() { instance_->close(); }

void Watcher::close() { instance_->close(); }

std::shared_ptr<void> Watcher::watch(const std::string& folder, std::function<void()> ring) {
  return instance_->watch(folder, std::move(ring));
}

std::size_t Watcher::folders() const { return instance_->folders(); }

}  // namespace tangram::http
