// CheckpointFiles: checkpoint folders and the marker files in them. A user controls what its folder
// is, also a file system that answers late or never, so the event loop must not touch it: threads
// do, and at most one of them for the same user. The requests of a user are executed in order; a
// request that timed out before it began is not executed. Each is answered once, on the loop. No
// other code of the daemon opens, looks for or removes these files (tools/check-modules). Used on
// the loop only.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/error.hpp"

namespace boost::asio {
class io_context;
}

namespace tangram::daemon {

inline constexpr const char* kSavedFile = "saved";
inline constexpr const char* kResumedFile = "resumed";

class CheckpointFiles {
 public:
  using OnFound = std::function<void(const Result<bool>& found)>;
  using OnRemoved = std::function<void(const Result<void>& removed)>;
  // What the threads do; may block.
  struct Calls {
    std::function<Result<bool>(const std::string& path)> has_file;
    std::function<Result<bool>(const std::string& path)> remove;
  };
  struct Limits {
    std::chrono::milliseconds timeout{10'000};  // of a request
    std::size_t threads = 64;                   // at most; more users than this must wait
  };

  explicit CheckpointFiles(boost::asio::io_context& loop);
  CheckpointFiles(boost::asio::io_context& loop, Calls calls, Limits limits);
  ~CheckpointFiles();  // pending callbacks are not called; does not wait for calls that hang
  CheckpointFiles(const CheckpointFiles&) = delete;
  CheckpointFiles& operator=(const CheckpointFiles&) = delete;
  CheckpointFiles(CheckpointFiles&&) = delete;
  CheckpointFiles& operator=(CheckpointFiles&&) = delete;

  // Whether the folder of user `uid` has a regular file of this name. Symbolic links are not
  // followed. The callback is never called within the call.
  void look_for(std::uint32_t uid, const std::string& folder, const char* name, OnFound on_found);
  // Removes the file; one that does not exist is no error.
  void remove(std::uint32_t uid, const std::string& folder, const char* name, OnRemoved on_removed);
  // Makes the folder unless it exists, and gives it to the user. Calls back with whether it has a
  // checkpoint.
  void prepare(std::uint32_t uid, std::uint32_t gid, const std::string& folder,
               OnFound on_prepared);

 private:
  struct Request;
  struct Shared;  // with the threads, which may outlive this object

  void enqueue(std::uint32_t uid, std::function<Result<bool>()> call, OnFound on_result);
  void on_answer(std::uint64_t id, const Result<bool>& result);
  void on_timeout(std::uint64_t id);

  boost::asio::io_context& loop_;
  Calls calls_;
  const Limits limits_;
  std::uint64_t last_id_ = 0;
  std::map<std::uint64_t, std::unique_ptr<Request>> waiting_;
  std::shared_ptr<Shared> shared_;
};

}  // namespace tangram::daemon
