// See user_lookup.hpp.
#include "daemon/access/user_lookup.hpp"

#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "api/job.hpp"
#include "base/text.hpp"

namespace tangram::daemon {

struct UserLookup::Request {
  Request(boost::asio::io_context& loop, OnIdentity callback)
      : timer(loop), on_identity(std::move(callback)) {}
  boost::asio::steady_timer timer;
  OnIdentity on_identity;
};

struct UserLookup::LoopHandle {
  std::mutex mutex;
  UserLookup* owner = nullptr;  // null once it was destroyed
};

UserLookup::UserLookup(boost::asio::io_context& loop, Lookup lookup, Limits limits)
    : loop_(loop),
      lookup_(std::move(lookup)),
      limits_(limits),
      handle_(std::make_shared<LoopHandle>()) {
  handle_->owner = this;
}

UserLookup::~UserLookup() {
  const std::scoped_lock lock(handle_->mutex);
  handle_->owner = nullptr;
  boost::system::error_code ignored;
  for (const auto& [uid, request] : waiting_) request->timer.cancel(ignored);
}

void UserLookup::look_up(std::uint32_t uid, OnIdentity on_identity) {
  const auto request = std::make_shared<Request>(loop_, std::move(on_identity));
  waiting_.emplace(uid, request);
  request->timer.expires_after(limits_.timeout);
  request->timer.async_wait(
      [handle = handle_, uid, request](const boost::system::error_code& stopped) {
        if (!stopped && handle->owner != nullptr) handle->owner->on_timeout(uid, request);
      });
  start_thread(uid);
}

// Does nothing if a lookup of the user is running or no thread is available; the request then waits
// for that lookup or its timeout.
void UserLookup::start_thread(std::uint32_t uid) {
  const auto now = std::chrono::steady_clock::now();
  const auto at = running_.find(uid);
  if (at != running_.end() && now - at->second < limits_.retry_after) return;
  if (threads_ >= limits_.threads) return;
  const auto work = [handle = handle_, lookup = lookup_, uid] {
    const auto identity = lookup(uid);
    const std::scoped_lock lock(handle->mutex);
    if (handle->owner == nullptr) return;
    boost::asio::post(handle->owner->loop_, [handle, uid, identity] {
      if (handle->owner != nullptr) handle->owner->on_found(uid, identity);
    });
  };
  try {
    std::thread(work).detach();
  } catch (const std::system_error&) {
    return;
  }
  ++threads_;
  running_[uid] = now;
}

void UserLookup::on_found(std::uint32_t uid, const Result<Identity>& identity) {
  --threads_;
  running_.erase(uid);
  std::vector<std::shared_ptr<Request>> answered;
  const auto [first, last] = waiting_.equal_range(uid);
  for (auto at = first; at != last; ++at) answered.push_back(at->second);
  waiting_.erase(first, last);
  for (const auto& request : answered) {
    request->timer.cancel();
    request->on_identity(identity);
  }
}

void UserLookup::on_timeout(std::uint32_t uid, const std::shared_ptr<Request>& request) {
  const auto [first, last] = waiting_.equal_range(uid);
  for (auto at = first; at != last; ++at) {
    if (at->second != request) continue;
    waiting_.erase(at);
    request->on_identity(failed(cat("looking up user ", uid, " timed out after ",
                                    api::duration_text(limits_.timeout), ": check `getent passwd ",
                                    uid, "` and the directory service (sssd, LDAP).")));
    return;
  }
}

}  // namespace tangram::daemon
