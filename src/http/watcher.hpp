// Watcher: tells when something in a folder changes (inotify), for whoever follows a log. There is
// one for all of them: the kernel gives a user few inotify instances. One rule: it only rings; who
// is woken looks for himself.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace boost::asio {
class io_context;
}

namespace tangram::http {

class Watcher {
 public:
  explicit Watcher(boost::asio::io_context& loop);
  ~Watcher();
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;
  Watcher(Watcher&&) = delete;
  Watcher& operator=(Watcher&&) = delete;

  // Rings until what it gives is dropped; gives nothing if the folder cannot be watched.
  [[nodiscard]] std::shared_ptr<void> watch(const std::string& folder, std::function<void()> ring);
  [[nodiscard]] std::size_t folders() const;
  // Rings no more, and leaves the loop.
  void close();

 private:
  class Instance;
  std::shared_ptr<Instance> instance_;
};

}  // namespace tangram::http
