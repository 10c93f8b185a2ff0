// See log_quota.hpp.
#include "daemon/runs/log_quota.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <set>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <spdlog/spdlog.h>

#include "api/run_spec.hpp"
#include "base/text.hpp"
#include "os/descriptor.hpp"

namespace tangram::daemon {
namespace {

constexpr std::array kStreams = {api::kStdoutLog, api::kStderrLog};

// Calls `visit` with the name of every log of the stream, also rotated ones.
void each_log(const std::string& folder, std::string_view stream,
              const std::function<void(int folder, const char* name)>& visit) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(folder.c_str()), ::closedir);
  if (!open) return;
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(open.get())) {
    const std::string_view name(static_cast<const char*>(entry->d_name));
    if (name == stream || name.starts_with(cat(stream, "."))) names.emplace_back(name);
  }
  for (const std::string& name : names) visit(::dirfd(open.get()), name.c_str());
}

void write_note(int folder, const char* name, const std::string& note) {
  const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
  const os::Descriptor file(::openat(folder, name, flags, 0640));
  if (!file.ok() || ::write(file.get(), note.data(), note.size()) < 0) {
    spdlog::error("cannot write the note of removed output to {}: {}", name, std::strerror(errno));
  }
}

}  // namespace

std::uint64_t measure_logs(const std::string& folder) {
  std::uint64_t bytes = 0;
  for (const char* stream : kStreams) {
    each_log(folder, stream, [&](int parent, const char* name) {
      struct stat status{};
      if (::fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) != 0) return;
      bytes += static_cast<std::uint64_t>(status.st_size);
    });
  }
  return bytes;
}

void trim_logs(const std::string& folder, const std::string& note) {
  for (const char* stream : kStreams) {
    int removed = 0;
    each_log(folder, stream, [&](int parent, const char* name) {
      if (::unlinkat(parent, name, 0) == 0) {
        ++removed;
      } else {
        spdlog::error("cannot remove {}/{}: {}", folder, name, std::strerror(errno));
      }
    });
    const os::Descriptor parent(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (removed > 0 && parent.ok()) write_note(parent.get(), stream, note);
  }
}

struct LogQuota::Thread {
  boost::asio::thread_pool pool{1};
};

LogQuota::LogQuota(boost::asio::io_context& loop, std::uint64_t limit,
                   std::function<bool(std::uint32_t)> is_exempt)
    : loop_(loop),
      limit_(limit),
      is_exempt_(std::move(is_exempt)),
      thread_(std::make_unique<Thread>()) {}

LogQuota::~LogQuota() {
  *alive_ = false;
  thread_->pool.stop();
  thread_->pool.join();
}

void LogQuota::set_limit(std::uint64_t limit) {
  limit_ = limit;
  for (const auto& [uid, user] : users_) enforce(uid);
}

void LogQuota::add(std::vector<EndedRun> runs) {
  boost::asio::post(thread_->pool, [this, alive = alive_, runs = std::move(runs)]() mutable {
    std::vector<std::pair<EndedRun, std::uint64_t>> measured;
    for (EndedRun& run : runs) {
      const std::uint64_t bytes = measure_logs(run.folder);
      if (bytes > kSmallLogs) measured.emplace_back(std::move(run), bytes);
    }
    boost::asio::post(loop_, [this, alive, measured = std::move(measured)] {
      if (!*alive) return;
      std::set<std::uint32_t> users;
      for (const auto& [run, bytes] : measured) {
        count(run, bytes);
        users.insert(run.uid);
      }
      for (const std::uint32_t uid : users) enforce(uid);
    });
  });
}

void LogQuota::count(const EndedRun& run, std::uint64_t bytes) {
  UserLogs& user = users_[run.uid];
  erase(user, run.run);
  user.runs[run.run] = {.folder = run.folder, .bytes = bytes};
  user.bytes += bytes;
}

void LogQuota::erase(UserLogs& user, std::uint32_t run) {
  const auto at = user.runs.find(run);
  if (at == user.runs.end()) return;
  user.bytes -= at->second.bytes;
  user.runs.erase(at);
}

void LogQuota::forget(const std::vector<std::uint32_t>& runs) {
  for (auto& [uid, user] : users_) {
    for (const std::uint32_t run : runs) erase(user, run);
  }
  std::erase_if(users_, [](const auto& each) { return each.second.runs.empty(); });
}

std::uint64_t LogQuota::bytes_of(std::uint32_t uid) const {
  const auto at = users_.find(uid);
  return at == users_.end() ? 0 : at->second.bytes;
}

void LogQuota::enforce(std::uint32_t uid) {
  UserLogs& user = users_.at(uid);
  if (limit_ == 0 || user.bytes <= limit_ || is_exempt_(uid)) return;
  const std::string note = cat("[tangram: output was trimmed: the logs of this user's ended runs ",
                               "exceed ", limit_, " bytes]\n");
  while (user.bytes > limit_ && user.runs.size() > 1) {
    const auto oldest = user.runs.begin();
    spdlog::info("run {}: logs trimmed, user {} exceeds {} bytes", oldest->first, uid, limit_);
    boost::asio::post(thread_->pool,
                      [folder = oldest->second.folder, note] { trim_logs(folder, note); });
    erase(user, oldest->first);
  }
}

}  // namespace tangram::daemon
