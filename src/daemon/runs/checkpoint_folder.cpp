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

void remove_saved_marker(const std::string& folder) {
  const std::string path = cat(folder, "/", kSavedFile);
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return;
  spdlog::error("cannot remove {}: {}", path, std::strerror(errno));
}

void remove_checkpoints(const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) {
    std::error_code error;
    fs::remove_all(folder, error);
    if (error) spdlog::error("cannot remove the checkpoint folder {}: {}", folder, error.message());
  }
}

}  // namespace tangram::daemon
