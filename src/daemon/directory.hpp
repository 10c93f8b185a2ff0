// Directory: asks who a user is now, for whoever cannot go on without it: what a job runs as is
// never taken from what was true yesterday. The machine's user database may be a service that
// answers late or never. One rule: whoever asks is told once, on the loop, and within the patience;
// a look-up that hangs has a thread to itself, and nobody waits for that.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "base/error.hpp"
#include "daemon/users.hpp"

namespace boost::asio {
class io_context;
}

namespace tangram::daemon {

class Directory {
 public:
  using Lookup = std::function<Result<Identity>(std::uint32_t uid)>;
  using Told = std::function<void(const Result<Identity>&)>;
  struct Limits {
    std::chrono::milliseconds patience{10'000};  // of whoever asks
    std::chrono::milliseconds hopeless{60'000};  // after that a user is looked up once more
    std::size_t threads = 64;                    // that hang, at most
  };

  explicit Directory(boost::asio::io_context& loop) : Directory(loop, look_up_identity, Limits()) {}
  Directory(boost::asio::io_context& loop, Lookup lookup, Limits limits);
  ~Directory();  // whoever still waits is told nothing
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  Directory(Directory&&) = delete;
  Directory& operator=(Directory&&) = delete;

  // Never told within the call.
  void ask(std::uint32_t uid, Told told);

 private:
  struct Question;
  struct Way;  // back to the loop, for threads that may outlive it

  void look_up(std::uint32_t uid);
  void found(std::uint32_t uid, const Result<Identity>& who);
  void give_up(std::uint32_t uid, const std::shared_ptr<Question>& question);

  boost::asio::io_context& loop_;
  const Lookup lookup_;
  const Limits limits_;
  std::multimap<std::uint32_t, std::shared_ptr<Question>> waiting_;       // by user
  std::map<std::uint32_t, std::chrono::steady_clock::time_point> asked_;  // and not answered yet
  std::size_t threads_ = 0;
  std::shared_ptr<Way> way_;
};

}  // namespace tangram::daemon
