// HistoryReader: a thread with a read-only Store of its own, for queries that may take long:
// history, usage, decisions replayed from the journal. The event loop never waits for it. The
// number of queries waiting is bounded, in total and per user. Used on the loop only.
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

class HistoryReader {
 public:
  static constexpr std::size_t kMaxWaiting = 64;
  static constexpr std::size_t kMaxPerUser = 8;

  HistoryReader(boost::asio::io_context& loop, std::string path);
  ~HistoryReader();  // waits for the query in progress
  HistoryReader(const HistoryReader&) = delete;
  HistoryReader& operator=(const HistoryReader&) = delete;
  HistoryReader(HistoryReader&&) = delete;
  HistoryReader& operator=(HistoryReader&&) = delete;

  // Calls `read` on the thread, one query at a time, then `on_result` on the loop, unless the
  // reader was destroyed. False: `uid` or all users together have too many queries waiting; neither
  // is called.
  template <class T>
  [[nodiscard]] bool query(std::uint32_t uid, std::function<Result<T>(store::Store&)> read,
                           std::function<void(Result<T>)> on_result) {
    auto result = std::make_shared<Result<T>>(failed("not read."));
    return enqueue(
        uid,
        [read = std::move(read), result](const Result<store::Store*>& store) {
          *result = store ? read(**store) : std::unexpected(store.error());
        },
        [on_result = std::move(on_result), result] { on_result(std::move(*result)); });
  }

 private:
  using ReadFunction = std::function<void(const Result<store::Store*>&)>;
  [[nodiscard]] bool enqueue(std::uint32_t uid, ReadFunction read, std::function<void()> on_result);

  struct Parts;
  std::shared_ptr<Parts> parts_;
};

}  // namespace tangram::daemon
