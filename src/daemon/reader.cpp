// See reader.hpp.
#include "daemon/reader.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

namespace tangram::daemon {
namespace {

constexpr int kMostWaiting = 64;

}  // namespace

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

  boost::asio::io_context& loop;
  std::string path;
  int waiting = 0;                      // on the loop only
  bool alive = true;                    // on the loop only
  std::unique_ptr<store::Store> store;  // in the thread only
  boost::asio::thread_pool thread{1};
};

Reader::Reader(boost::asio::io_context& loop, std::string path)
    : parts_(std::make_shared<Parts>(loop, std::move(path))) {}

Reader::~Reader() {
  parts_->alive = false;
  parts_->thread.join();
}

bool Reader::enqueue(Look look, std::function<void()> then) {
  if (parts_->waiting >= kMostWaiting) return false;
  ++parts_->waiting;
  // By reference in the thread: the parts are there until it was joined.
  boost::asio::post(parts_->thread, [&parts = *parts_, weak = std::weak_ptr(parts_),
                                     look = std::move(look), then = std::move(then)]() mutable {
    look(parts.open());
    boost::asio::post(parts.loop, [weak, then = std::move(then)] {
      const auto there = weak.lock();
      if (!there || !there->alive) return;
      --there->waiting;
      then();
    });
  });
  return true;
}

}  // namespace tangram::daemon
