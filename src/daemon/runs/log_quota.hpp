// LogQuota: bounds the disk space that the logs of a user's ended runs take. They belong to the
// daemon's user, so no quota of the file system counts them for the job's user. When a user's logs
// exceed the limit, those of the oldest ended runs are removed; a note in their place says so. The
// logs of the user's newest ended run are kept, and those of live runs are bounded by rotation.
// Small logs are not counted. Used on the loop only; a thread of its own measures and removes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace boost::asio {
class io_context;
}

namespace tangram::daemon {

class LogQuota {
 public:
  static constexpr std::uint64_t kSmallLogs = 4096;  // of a run, in bytes

  struct EndedRun {
    std::uint32_t run = 0;
    std::uint32_t uid = 0;  // of its job
    std::string folder;
  };

  // `limit`: bytes per user; 0: none. `is_exempt`: whether the user has no limit.
  LogQuota(boost::asio::io_context& loop, std::uint64_t limit,
           std::function<bool(std::uint32_t uid)> is_exempt);
  ~LogQuota();  // waits for the files in progress
  LogQuota(const LogQuota&) = delete;
  LogQuota& operator=(const LogQuota&) = delete;
  LogQuota(LogQuota&&) = delete;
  LogQuota& operator=(LogQuota&&) = delete;

  void set_limit(std::uint64_t limit);
  // Counts the logs of these runs, and removes older ones if there are too many.
  void add(std::vector<EndedRun> runs);
  // The folders of these runs were removed.
  void forget(const std::vector<std::uint32_t>& runs);
  [[nodiscard]] std::uint64_t bytes_of(std::uint32_t uid) const;

 private:
  struct Thread;
  struct Logs {
    std::string folder;
    std::uint64_t bytes = 0;
  };
  struct UserLogs {
    std::map<std::uint32_t, Logs> runs;  // the oldest first
    std::uint64_t bytes = 0;
  };

  void count(const EndedRun& run, std::uint64_t bytes);
  void enforce(std::uint32_t uid);
  static void erase(UserLogs& user, std::uint32_t run);

  boost::asio::io_context& loop_;
  std::uint64_t limit_;
  std::function<bool(std::uint32_t)> is_exempt_;
  std::map<std::uint32_t, UserLogs> users_;  // by uid
  std::unique_ptr<Thread> thread_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

// The bytes of the logs in a run's folder. Blocks.
[[nodiscard]] std::uint64_t measure_logs(const std::string& folder);
// Removes them and leaves the note as the log of each stream that had one. Blocks.
void trim_logs(const std::string& folder, const std::string& note);

}  // namespace tangram::daemon
