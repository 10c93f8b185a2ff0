// Reader: a thread with a read-only Store of its own, for looks that may take long: histories, sums
// over all jobs, decisions made again from the journal. One rule: it never waits for the loop and
// the loop never waits for it; what it finds comes back as a call on the loop. So that nobody keeps
// the others from their answers, a user has only so many questions open at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "store/store.hpp"

namespace boost::asio {
class io_context;
}

namespace tangram::daemon {

class Reader {
 public:
  static constexpr std::size_t kMostWaiting = 64;
  static constexpr std::size_t kMostOfOne = 8;

  Reader(boost::asio::io_context& loop, std::string path);
  ~Reader();  // awaits the look that is under way
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  Reader(Reader&&) = delete;
  Reader& operator=(Reader&&) = delete;

  // `look` in the thread, one at a time; `then` on the loop, unless the Reader is gone by then.
  // false: too many wait already, his own or all together, and nothing will come of this one.
  template <class T>
  [[nodiscard]] bool ask(std::uint32_t uid, std::function<Result<T>(store::Store&)> look,
                         std::function<void(Result<T>)> then) {
    auto found = std::make_shared<Result<T>>(failed("nothing was looked at."));
    return enqueue(
        uid,
        [look = std::move(look), found](const Result<store::Store*>& store) {
          *found = store ? look(**store) : std::unexpected(store.error());
        },
        [then = std::move(then), found] { then(std::move(*found)); });
  }

 private:
  using Look = std::function<void(const Result<store::Store*>&)>;
  [[nodiscard]] bool enqueue(std::uint32_t uid, Look look, std::function<void()> then);

  struct Parts;
  std::shared_ptr<Parts> parts_;
};

}  // namespace tangram::daemon
