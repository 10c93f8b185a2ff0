// See owned_instances_file.hpp. The file:
//   tangram owned 1
//   boot 0b5c…
//   GPU-… 2g.10gb 4
//   end 1
// The last line counts the locations, so that a truncated file is noticed.
#include "device/owned_instances_file.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/file.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "base/text.hpp"
#include "os/descriptor.hpp"

namespace tangram::device {
namespace {

constexpr std::string_view kHeader = "tangram owned 1";

os::Descriptor open_file(const std::string& path, int flags) {
  return os::Descriptor(::open(path.c_str(), flags, 0600));
}

Error errno_error(std::string_view tried, const std::string& path) {
  return {ErrorCode::kFailed, cat("cannot ", tried, " ", tangram::quoted(path), ": ",
                                  std::generic_category().message(errno), ".")};
}

Error damaged(const std::string& path, std::string_view why) {
  return {ErrorCode::kInvalid,
          cat("cannot determine which instances are Tangram's: ", tangram::quoted(path), " ", why,
              ". Move it away; its instances then count as not Tangram's and can be adopted.")};
}

std::optional<InstanceLocation> parse_location(const std::string& line) {
  std::istringstream words(line);
  InstanceLocation location;
  std::string start;
  std::string more;
  if (!(words >> location.gpu_uuid >> location.profile >> start) || words >> more)
    return std::nullopt;
  const auto number = parse_int(start, 0, mig::kMaxMemorySlices - 1);
  if (!number) return std::nullopt;
  location.start = static_cast<unsigned>(*number);
  return location;
}

struct Contents {
  std::string boot_id;
  std::vector<InstanceLocation> locations;
};

Result<Contents> parse(std::istream& text, const std::string& path) {
  Contents contents;
  std::string line;
  if (!std::getline(text, line) || line != kHeader) {
    return std::unexpected(damaged(path, "does not begin with 'tangram owned 1'"));
  }
  if (!std::getline(text, line) || !line.starts_with("boot ")) {
    return std::unexpected(damaged(path, "does not name its boot"));
  }
  contents.boot_id = line.substr(5);
  while (std::getline(text, line) && !line.starts_with("end ")) {
    const auto location = parse_location(line);
    if (!location) return std::unexpected(damaged(path, cat("has a line ", tangram::quoted(line))));
    contents.locations.push_back(*location);
  }
  if (text.eof() || line != cat("end ", contents.locations.size())) {
    return std::unexpected(damaged(path, "is cut short"));
  }
  return contents;
}

std::string text_of(const std::string& boot_id, const std::vector<InstanceLocation>& locations) {
  std::string text = cat(kHeader, "\nboot ", boot_id, "\n");
  for (const InstanceLocation& location : locations) {
    text += cat(location.gpu_uuid, " ", location.profile, " ", location.start, "\n");
  }
  return text + cat("end ", locations.size(), "\n");
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return ::fsync(fd) == 0;
}

// Waits for the lock; it is held until the descriptor is closed.
Result<os::Descriptor> lock_file(const std::string& path) {
  std::error_code ignored;  // the open below reports the error
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  os::Descriptor lock = open_file(path, O_RDWR | O_CREAT | O_CLOEXEC);
  if (!lock.ok()) return std::unexpected(errno_error("open", path));
  while (::flock(lock.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return std::unexpected(errno_error("lock", path));
  }
  return lock;
}

}  // namespace

OwnedInstancesFile::OwnedInstancesFile(std::string path, std::string boot_id)
    : path_(std::move(path)), boot_id_(std::move(boot_id)) {}

Result<std::vector<InstanceLocation>> OwnedInstancesFile::read() const {
  std::ifstream file(path_, std::ios::binary);
  if (!file) {
    if (errno == ENOENT || errno == ENOTDIR) return std::vector<InstanceLocation>{};
    return std::unexpected(errno_error("read the list of Tangram's instances", path_));
  }
  Result<Contents> contents = parse(file, path_);
  if (!contents) return std::unexpected(std::move(contents.error()));
  if (contents->boot_id != boot_id_) return std::vector<InstanceLocation>{};
  return std::move(contents->locations);
}

Result<os::Descriptor> OwnedInstancesFile::lock_changes() const {
  return lock_file(path_ + ".changes");
}

Result<void> OwnedInstancesFile::record(const InstanceLocation& location, bool is_owned) const {
  // A separate lock file, because every change replaces the list itself.
  const std::string lock_path = path_ + ".lock";
  const auto lock = lock_file(lock_path);
  if (!lock) return std::unexpected(lock.error());
  Result<std::vector<InstanceLocation>> locations = read();
  if (!locations) return std::unexpected(std::move(locations.error()));
  const bool was_owned = std::ranges::find(*locations, location) != locations->end();
  if (was_owned == is_owned) return {};
  if (is_owned) {
    locations->push_back(location);
  } else {
    std::erase(*locations, location);
  }
  return write(*locations);
}

Result<void> OwnedInstancesFile::write(const std::vector<InstanceLocation>& locations) const {
  const std::string temporary = path_ + ".new";
  {
    const os::Descriptor file = open_file(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC);
    if (file.get() < 0 || !write_all(file.get(), text_of(boot_id_, locations))) {
      return std::unexpected(errno_error("write", temporary));
    }
  }
  if (::rename(temporary.c_str(), path_.c_str()) != 0) {
    return std::unexpected(errno_error("replace", path_));
  }
  const std::string folder = std::filesystem::path(path_).parent_path().string();
  const os::Descriptor directory =
      open_file(folder.empty() ? "." : folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory.get() < 0 || ::fsync(directory.get()) != 0) {
    return std::unexpected(errno_error("sync the folder of", path_));
  }
  return {};
}

Result<std::unique_ptr<OwnedInstances>> OwnedInstancesFile::open() const {
  Result<std::vector<InstanceLocation>> locations = read();
  if (!locations) return std::unexpected(std::move(locations.error()));
  return std::make_unique<OwnedInstances>(
      *std::move(locations), [file = *this](const InstanceLocation& location, bool is_owned) {
        return file.record(location, is_owned);
      });
}

}  // namespace tangram::device
