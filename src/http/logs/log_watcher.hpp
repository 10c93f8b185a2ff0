// LogWatcher: notifies the readers of followed logs when a folder changes (inotify). All readers
// share one, because the kernel limits the inotify instances of a user. A notification only says
// that something has changed; the reader looks at the files itself. Used on the event loop only.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace boost::asio {
class io_context;
}

namespace tangram::http {

class LogWatcher {
 public:
  explicit LogWatcher(boost::asio::io_context& loop);
  ~LogWatcher();
  LogWatcher(const LogWatcher&) = delete;
  LogWatcher& operator=(const LogWatcher&) = delete;
  LogWatcher(LogWatcher&&) = delete;
  LogWatcher& operator=(LogWatcher&&) = delete;

  // Calls `notify` on each change until the returned handle is dropped. Null: the folder cannot be
  // watched.
  [[nodiscard]] std::shared_ptr<void> watch(const std::string& folder,
                                            std::function<void()> notify);
  // The number of watched folders.
  [[nodiscard]] std::size_t folders() const;
  // Stops all notifications and pending operations on the loop.
  void close();

 private:
  class Instance;
  std::shared_ptr<Instance> instance_;
};

}  // namespace tangram::http
