// UserLookup: looks up a user's current account off the event loop. The account that a job runs as
// is never taken from a cache. The user database may answer late or never: each request is answered
// once, on the loop, with the account or a timeout error; a lookup that hangs keeps its own thread.
// Used on the loop only.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "base/error.hpp"
#include "daemon/access/user_cache.hpp"

namespace boost::asio {
class io_context;
}

namespace tangram::daemon {

class UserLookup {
 public:
  using Lookup = std::function<Result<Identity>(std::uint32_t uid)>;
  using OnIdentity = std::function<void(const Result<Identity>&)>;
  struct Limits {
    std::chrono::milliseconds timeout{10'000};  // of a request
    std::chrono::milliseconds retry_after{
        60'000};               // starts another thread for a lookup that hangs this long
    std::size_t threads = 64;  // at most
  };

  explicit UserLookup(boost::asio::io_context& loop)
      : UserLookup(loop, look_up_identity, Limits()) {}
  UserLookup(boost::asio::io_context& loop, Lookup lookup, Limits limits);
  ~UserLookup();  // pending callbacks are not called
  UserLookup(const UserLookup&) = delete;
  UserLookup& operator=(const UserLookup&) = delete;
  UserLookup(UserLookup&&) = delete;
  UserLookup& operator=(UserLookup&&) = delete;

  // Calls `on_identity` once, never within the call. Requests for the same user share a lookup.
  void look_up(std::uint32_t uid, OnIdentity on_identity);

 private:
  struct Request;
  struct LoopHandle;  // lets threads that outlive this object post to the loop safely

  void start_thread(std::uint32_t uid);
  void on_found(std::uint32_t uid, const Result<Identity>& identity);
  void on_timeout(std::uint32_t uid, const std::shared_ptr<Request>& request);

  boost::asio::io_context& loop_;
  const Lookup lookup_;
  const Limits limits_;
  std::multimap<std::uint32_t, std::shared_ptr<Request>> waiting_;          // by user
  std::map<std::uint32_t, std::chrono::steady_clock::time_point> running_;  // since when, by user
  std::size_t threads_ = 0;
  std::shared_ptr<LoopHandle> handle_;
};

}  // namespace tangram::daemon
