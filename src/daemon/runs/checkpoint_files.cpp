// See checkpoint_files.hpp.
#include "daemon/runs/checkpoint_files.hpp"

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <sys/stat.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "api/job.hpp"
#include "base/text.hpp"
#include "daemon/runs/checkpoint_folder.hpp"

namespace tangram::daemon {
namespace {

// These block for as long as the user's file system likes.
Result<bool> has_file(const std::string& path) {
  struct stat found{};
  return lstat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode);
}

Result<bool> remove_file(const std::string& path) {
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return true;
  return failed(cat("cannot remove ", tangram::quoted(path), ": ", std::strerror(errno), "."));
}

}  // namespace

struct CheckpointFiles::Request {
  Request(boost::asio::io_context& loop, OnFound callback)
      : timer(loop), on_result(std::move(callback)) {}
  boost::asio::steady_timer timer;
  OnFound on_result;
};

struct CheckpointFiles::Shared {
  struct Task {
    std::uint64_t id = 0;
    std::uint32_t uid = 0;
    std::function<Result<bool>()> call;
  };

  std::mutex mutex;
  std::condition_variable is_changed;
  CheckpointFiles* owner = nullptr;  // null once it was destroyed
  std::deque<Task> tasks;
  std::set<std::uint32_t> busy_users;
  std::size_t threads = 0;
  std::size_t idle = 0;

  // The first task whose user has no other one being executed.
  std::optional<Task> take() {
    const auto at = std::ranges::find_if(
        tasks, [&](const Task& task) { return !busy_users.contains(task.uid); });
    if (at == tasks.end()) return std::nullopt;
    Task task = std::move(*at);
    tasks.erase(at);
    busy_users.insert(task.uid);
    return task;
  }

  static void run(const std::shared_ptr<Shared>& self) {
    std::unique_lock lock(self->mutex);
    while (self->owner != nullptr) {
      std::optional<Task> task = self->take();
      if (!task) {
        ++self->idle;
        self->is_changed.wait(lock);
        --self->idle;
        continue;
      }
      lock.unlock();
      const Result<bool> result = task->call();
      lock.lock();
      self->busy_users.erase(task->uid);
      self->is_changed.notify_all();
      if (self->owner == nullptr) return;
      boost::asio::post(self->owner->loop_, [self, id = task->id, result] {
        if (self->owner != nullptr) self->owner->on_answer(id, result);
      });
    }
  }
};

CheckpointFiles::CheckpointFiles(boost::asio::io_context& loop)
    : CheckpointFiles(loop, {.has_file = has_file, .remove = remove_file}, Limits()) {}

CheckpointFiles::CheckpointFiles(boost::asio::io_context& loop, Calls calls, Limits limits)
    : loop_(loop), calls_(std::move(calls)), limits_(limits), shared_(std::make_shared<Shared>()) {
  shared_->owner = this;
}

CheckpointFiles::~CheckpointFiles() {
  const std::scoped_lock lock(shared_->mutex);
  shared_->owner = nullptr;
  shared_->tasks.clear();
  shared_->is_changed.notify_all();
}

void CheckpointFiles::look_for(std::uint32_t uid, const std::string& folder, const char* name,
                               OnFound on_found) {
  enqueue(
      uid, [call = calls_.has_file, path = cat(folder, "/", name)] { return call(path); },
      std::move(on_found));
}

void CheckpointFiles::remove(std::uint32_t uid, const std::string& folder, const char* name,
                             OnRemoved on_removed) {
  enqueue(
      uid, [call = calls_.remove, path = cat(folder, "/", name)] { return call(path); },
      [on_removed = std::move(on_removed)](const Result<bool>& removed) {
        on_removed(removed ? Result<void>() : std::unexpected(removed.error()));
      });
}

void CheckpointFiles::prepare(std::uint32_t uid, std::uint32_t gid, const std::string& folder,
                              OnFound on_prepared) {
  enqueue(
      uid,
      [folder, uid, gid]() -> Result<bool> {
        if (auto made = make_checkpoint_folder(folder, uid, gid); !made) {
          return std::unexpected(made.error());
        }
        return has_checkpoint(folder);
      },
      std::move(on_prepared));
}

void CheckpointFiles::enqueue(std::uint32_t uid, std::function<Result<bool>()> call,
                              OnFound on_result) {
  const std::uint64_t id = ++last_id_;
  auto request = std::make_unique<Request>(loop_, std::move(on_result));
  request->timer.expires_after(limits_.timeout);
  request->timer.async_wait([shared = shared_, id](const boost::system::error_code& stopped) {
    if (!stopped && shared->owner != nullptr) shared->owner->on_timeout(id);
  });
  waiting_[id] = std::move(request);
  const std::scoped_lock lock(shared_->mutex);
  shared_->tasks.push_back({.id = id, .uid = uid, .call = std::move(call)});
  shared_->is_changed.notify_one();
  // An idle thread may be about to take an earlier task, so there is one for each task, if allowed.
  if (shared_->idle >= shared_->tasks.size() || shared_->threads >= limits_.threads) return;
  try {
    std::thread([shared = shared_] { Shared::run(shared); }).detach();
    ++shared_->threads;
  } catch (const std::system_error&) {  // the request waits for another thread or its timeout
  }
}

void CheckpointFiles::on_answer(std::uint64_t id, const Result<bool>& result) {
  auto answered = waiting_.extract(id);
  if (answered.empty()) return;  // timed out
  answered.mapped()->timer.cancel();
  answered.mapped()->on_result(result);
}

void CheckpointFiles::on_timeout(std::uint64_t id) {
  auto request = waiting_.extract(id);
  if (request.empty()) return;
  {
    const std::scoped_lock lock(shared_->mutex);
    std::erase_if(shared_->tasks, [&](const Shared::Task& task) { return task.id == id; });
  }
  request.mapped()->on_result(failed(cat("its checkpoint folder did not respond within ",
                                         api::duration_text(limits_.timeout), ".")));
}

}  // namespace tangram::daemon
