// See directory.hpp.
#include "daemon/directory.hpp"

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

struct Directory::Question {
  Question(boost::asio::io_context& loop, Told to_be_told)
      : timer(loop), told(std::move(to_be_told)) {}
  boost::asio::steady_timer timer;
  Told told;
};

struct Directory::Way {
  std::mutex mutex;
  Directory* directory = nullptr;  // null: there is none any more
};

Directory::Directory(boost::asio::io_context& loop, Lookup lookup, Limits limits)
    : loop_(loop), lookup_(std::move(lookup)), limits_(limits), way_(std::make_shared<Way>()) {
  way_->directory = this;
}

Directory::~Directory() {
  const std::scoped_lock lock(way_->mutex);
  way_->directory = nullptr;
  for (const auto& [uid, question] : waiting_) question->timer.cancel();
}

void Directory::ask(std::uint32_t uid, Told told) {
  const auto question = std::make_shared<Question>(loop_, std::move(told));
  waiting_.emplace(uid, question);
  question->timer.expires_after(limits_.patience);
  question->timer.async_wait([way = way_, uid, question](const boost::system::error_code& stopped) {
    if (!stopped && way->directory != nullptr) way->directory->give_up(uid, question);
  });
  look_up(uid);
}

// One look-up of a user answers all who wait for him. Without a thread for it they wait in vain,
// and are told so in time.
void Directory::look_up(std::uint32_t uid) {
  const auto now = std::chrono::steady_clock::now();
  const auto at = asked_.find(uid);
  if (at != asked_.end() && now - at->second < limits_.hopeless) return;
  if (threads_ >= limits_.threads) return;
  const auto work = [way = way_, lookup = lookup_, uid] {
    const auto who = lookup(uid);
    const std::scoped_lock lock(way->mutex);
    if (way->directory == nullptr) return;
    boost::asio::post(way->directory->loop_, [way, uid, who] {
      if (way->directory != nullptr) way->directory->found(uid, who);
    });
  };
  try {
    std::thread(work).detach();
  } catch (const std::system_error&) {
    return;
  }
  ++threads_;
  asked_[uid] = now;
}

void Directory::found(std::uint32_t uid, const Result<Identity>& who) {
  --threads_;
  asked_.erase(uid);
  std::vector<std::shared_ptr<Question>> answered;
  const auto [first, last] = waiting_.equal_range(uid);
  for (auto at = first; at != last; ++at) answered.push_back(at->second);
  waiting_.erase(first, last);
  for (const auto& question : answered) {
    question->timer.cancel();
    question->told(who);
  }
}

void Directory::give_up(std::uint32_t uid, const std::shared_ptr<Question>& question) {
  const auto [first, last] = waiting_.equal_range(uid);
  for (auto at = first; at != last; ++at) {
    if (at->second != question) continue;
    waiting_.erase(at);
    question->told(failed(cat("the machine's user database did not say within ",
                              api::duration_text(limits_.patience), " who the user ", uid,
                              " is. See whether `getent passwd ", uid,
                              "` answers, and look at the directory service (sssd, LDAP).")));
    return;
  }
}

}  // namespace tangram::daemon
