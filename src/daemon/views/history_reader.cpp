// See history_reader.hpp.
#include "daemon/views/history_reader.hpp"

#include <map>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

namespace tangram::daemon {

struct HistoryReader::Parts {
  Parts(boost::asio::io_context& the_loop, std::string the_path)
      : loop(the_loop), path(std::move(the_path)) {}

  // Opened at the first query and kept. Not checked: the daemon has done that.
  Result<store::Store*> open() {
    if (store) return store.get();
    auto opened = store::Store::open(path, {.read_only = true, .create = false, .check = false});
    if (!opened) return std::unexpected(opened.error());
    store = *std::move(opened);
    return store.get();
  }

  [[nodiscard]] bool acquire_slot(std::uint32_t uid) {
    if (waiting >= kMaxWaiting) return false;
    std::size_t& count = waiting_of[uid];
    if (count >= kMaxPerUser) return false;
    ++count;
    ++waiting;
    return true;
  }
  void release_slot(std::uint32_t uid) {
    --waiting;
    if (--waiting_of[uid] == 0) waiting_of.erase(uid);
  }

  boost::asio::io_context& loop;
  std::string path;
  std::size_t waiting = 0;                          // on the loop only
  std::map<std::uint32_t, std::size_t> waiting_of;  // by uid; on the loop only
  bool alive = true;                                // on the loop only
  std::unique_ptr<store::Store> store;              // on the thread only
  boost::asio::thread_pool thread{1};
};

HistoryReader::HistoryReader(boost::asio::io_context& loop, std::string path)
    : parts_(std::make_shared<Parts>(loop, std::move(path))) {}

HistoryReader::~HistoryReader() {
  parts_->alive = false;
  parts_->thread.join();
}

bool HistoryReader::enqueue(std::uint32_t uid, ReadFunction read, std::function<void()> on_result) {
  if (!parts_->acquire_slot(uid)) return false;
  // The thread may hold a reference: it is joined before the parts are destroyed.
  boost::asio::post(parts_->thread,
                    [&parts = *parts_, weak = std::weak_ptr(parts_), uid, read = std::move(read),
                     on_result = std::move(on_result)]() mutable {
                      read(parts.open());
                      boost::asio::post(parts.loop, [weak, uid, on_result = std::move(on_result)] {
                        const auto self = weak.lock();
                        if (!self || !self->alive) return;
                        self->release_slot(uid);
                        on_result();
                      });
                    });
  return true;
}

}  // namespace tangram::daemon
