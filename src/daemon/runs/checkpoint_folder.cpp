// See checkpoint_folder.hpp.
#include "daemon/runs/checkpoint_folder.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

#include <spdlog/spdlog.h>

#include "base/text.hpp"
#include "daemon/runs/checkpoint_files.hpp"

namespace tangram::daemon {

namespace fs = std::filesystem;

Result<void> make_checkpoint_folder(const std::string& folder, std::uint32_t uid,
                                    std::uint32_t gid) {
  const auto failure = [&] {
    return failed(cat("cannot create the checkpoint folder ", tangram::quoted(folder), ": ",
                      std::strerror(errno), "."));
  };
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return failure();
  if (geteuid() == 0 && lchown(folder.c_str(), uid, gid) != 0) return failure();
  return {};
}

Result<bool> has_checkpoint(const std::string& folder) {
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name != kSavedFile && name != kResumedFile) return true;
  }
  if (!error) return false;
  return failed(cat("cannot read the checkpoint folder ", tangram::quoted(folder), ": ",
                    error.message(), "."));
}

}  // namespace tangram::daemon
