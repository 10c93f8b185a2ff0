// See durable.hpp.
#include "os/durable.hpp"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

#include "os/descriptor.hpp"
#include "os/failure.hpp"

namespace tangram::os {

Result<void> write_durably(const std::string& path, std::string_view text) {
  const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW;
  const Descriptor file(::open(path.c_str(), flags, 0600));
  if (!file.ok()) return system_failure("create the file", path, errno);
  while (!text.empty()) {
    const ssize_t count = ::write(file.get(), text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_failure("write", path, errno);
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  if (::fsync(file.get()) != 0) return system_failure("sync", path, errno);
  return {};
}

Result<void> replace_durably(const std::string& path, std::string_view text) {
  const std::string fresh = path + ".new";
  if (auto written = write_durably(fresh, text); !written) return written;
  if (::rename(fresh.c_str(), path.c_str()) != 0) return system_failure("replace", path, errno);
  return {};
}

Result<void> sync_folder(const std::string& path) {
  const Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.ok() || ::fsync(folder.get()) != 0) {
    return system_failure("sync the folder", path, errno);
  }
  return {};
}

Result<void> sync_with_parent(const std::string& folder) {
  if (auto synced = sync_folder(folder); !synced) return synced;
  const std::string parent = std::filesystem::path(folder).lexically_normal().parent_path();
  return sync_folder(parent.empty() ? "." : parent);
}

}  // namespace tangram::os
