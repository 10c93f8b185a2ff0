// See reader.hpp.
#include "daemon/reader.hpp"

#include <map>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

namespace tangram::daemon {

struct Reader::Parts {
  Parts(boost::asio::io_context& the_loop, std::string the_path)
      : loop(the_loop), path(std::move(the_path)) {}

  // Opened at the first look and kept. Who owns the store has checked it.
  Result<store::Store*> open() {
    if (store) return store.get();
    auto opened = store::Store::open(path, {.read_only = true, .create = false, .check = false});
    if (!opened) return std::unexpected(opened.error());
    store = *std::move(opened);
    return store.get();
  }

  [[nodiscard]] bool take_place(std::uint32_t uid) {
    if (waiting >= kMostWaiting) return false;
    std::size_t& his = waiting_of[uid];
    if (his >= kMostOfOne) return false;
    ++his;
    ++waiting;
    return true;
  }
  void give_back(std::uint32_t uid) {
    --waiting;
    if (--waiting_of[uid] == 0) waiting_of.erase(uid);
  }

  boost::asio::io_context& loop;
  std::string path;
  std::size_t waiting = 0;                          // on the loop only
  std::map<std::uint32_t, std::size_t> waiting_of;  // by uid; on the loop only
  bool alive = true;                                // on the loop only
  std::unique_ptr<store::Store> store;              // in the thread only
  boost::asio::thread_pool thread{1};
};

Reader::Reader(boost::asio::io_context& loop, std::string path)
    : parts_(std::make_shared<Parts>(loop, std::move(path))) {}

Reader::~Reader() {
  parts_->alive = false;
  parts_->thread.join();
}

bool Reader::enqueue(std::uint32_t uid, Look look, std::function<void()> then) {
  if (!parts_->take_place(uid)) return false;
  // By reference in the thread: the parts are there until it was joined.
  boost::asio::post(parts_->thread, [&parts = *parts_, weak = std::weak_ptr(parts_), uid,
                                     look = std::move(look), then = std::move(then)]() mutable {
    look(parts.open());
    boost::asio::post(parts.loop, [weak, uid, then = std::move(then)] {
      const auto there = weak.lock();
      if (!there || !there->alive) return;
      there->give_back(uid);
      then();
    });
  });
  return true;
}

}  // namespace tangram::daemon
