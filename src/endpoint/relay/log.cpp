// See log.hpp.
#include "endpoint/relay/log.hpp"

#include <array>
#include <ctime>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include "api/endpoint_spec.hpp"
#include "base/text.hpp"

namespace tangram::endpoint {
namespace {

constexpr std::size_t kMaxEntry = 2'048;

std::string stamp() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  std::array<char, 32> text{};
  ::gmtime_r(&now, &parts);
  return {text.data(), std::strftime(text.data(), text.size(), "%FT%TZ", &parts)};
}

}  // namespace

Log::Log(int folder)
    : file_(::openat(folder, api::kEndpointLog,
                     O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0640)) {
  struct stat status{};
  if (file_.ok() && ::fstat(file_.get(), &status) == 0) {
    size_ = static_cast<std::size_t>(status.st_size);
  }
}

void Log::write(std::string_view text) {
  if (!file_.ok()) return;
  const std::string line = cat(stamp(), " ", text.substr(0, kMaxEntry), "\n");
  if (size_ + line.size() > kMaxBytes) discard_older_half();
  // A line that cannot be written is lost; there is no other place to report that.
  const ssize_t written = ::write(file_.get(), line.data(), line.size());
  if (written > 0) size_ += static_cast<std::size_t>(written);
}

// Rewrites the open file in place: the endpoint no longer has the privileges to rename it.
void Log::discard_older_half() {
  std::string kept(kMaxBytes / 2, '\0');
  const off_t from = size_ > kept.size() ? static_cast<off_t>(size_ - kept.size()) : 0;
  const ssize_t count = ::pread(file_.get(), kept.data(), kept.size(), from);
  kept.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  kept.erase(0, kept.find('\n') == std::string::npos ? kept.size() : kept.find('\n') + 1);
  if (::ftruncate(file_.get(), 0) != 0) return;
  const ssize_t written = ::write(file_.get(), kept.data(), kept.size());
  size_ = written > 0 ? static_cast<std::size_t>(written) : 0;
}

}  // namespace tangram::endpoint
