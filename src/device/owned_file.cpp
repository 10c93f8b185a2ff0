// See owned_file.hpp. The file:
//   tangram owned 1
//   boot 0b5c…
//   GPU-… 2g.10gb 4
//   end 1
// The last line counts the places, so that a file that was cut short is noticed.
#include "device/owned_file.hpp"

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
#include "files/descriptor.hpp"

namespace tangram::device {
namespace {

constexpr std::string_view kHeader = "tangram owned 1";

files::Descriptor open_file(const std::string& path, int flags) {
  return files::Descriptor(::open(path.c_str(), flags, 0600));
}

Error errno_error(std::string_view tried, const std::string& path) {
  return {ErrorCode::kFailed, cat("cannot ", tried, " ", tangram::quoted(path), ": ",
                                  std::generic_category().message(errno), ".")};
}

Error damaged(const std::string& path, std::string_view why) {
  return {ErrorCode::kInvalid,
          cat("cannot tell which instances are Tangram's: ", tangram::quoted(path), " ", why,
              ". Move it away; the instances then count as others', and can be adopted.")};
}

std::optional<Place> place_from(const std::string& line) {
  std::istringstream words(line);
  Place place;
  std::string start;
  std::string more;
  if (!(words >> place.gpu_uuid >> place.profile >> start) || words >> more) return std::nullopt;
  const auto number = parse_int(start, 0, mig::kMaxMemorySlices - 1);
  if (!number) return std::nullopt;
  place.start = static_cast<unsigned>(*number);
  return place;
}

struct Contents {
  std::string boot_id;
  std::vector<Place> places;
};

Result<Contents> parse(std::istream& text, const std::string& path) {
  Contents contents;
  std::string line;
  if (!std::getline(text, line) || line != kHeader) {
    return std::unexpected(damaged(path, "does not begin with 'tangram owned 1'"));
  }
  if (!std::getline(text, line) || !line.starts_with("boot ")) {
    return std::unexpected(damaged(path, "does not name the boot it is about"));
  }
  contents.boot_id = line.substr(5);
  while (std::getline(text, line) && !line.starts_with("end ")) {
    const auto place = place_from(line);
    if (!place) return std::unexpected(damaged(path, cat("has a line ", tangram::quoted(line))));
    contents.places.push_back(*place);
  }
  if (text.eof() || line != cat("end ", contents.places.size())) {
    return std::unexpected(damaged(path, "is cut short"));
  }
  return contents;
}

std::string text_of(const std::string& boot_id, const std::vector<Place>& places) {
  std::string text = cat(kHeader, "\nboot ", boot_id, "\n");
  for (const Place& place : places) {
    text += cat(place.gpu_uuid, " ", place.profile, " ", place.start, "\n");
  }
  return text + cat("end ", places.size(), "\n");
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

// Waits for it; held until the descriptor is closed.
Result<files::Descriptor> lock_file(const std::string& path) {
  std::error_code ignored;  // the open below tells what is wrong
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  files::Descriptor lock = open_file(path, O_RDWR | O_CREAT | O_CLOEXEC);
  if (!lock.ok()) return std::unexpected(errno_error("open", path));
  while (::flock(lock.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return std::unexpected(errno_error("lock", path));
  }
  return lock;
}

}  // namespace

OwnedFile::OwnedFile(std::string path, std::string boot_id)
    : path_(std::move(path)), boot_id_(std::move(boot_id)) {}

Result<std::vector<Place>> OwnedFile::read() const {
  std::ifstream file(path_, std::ios::binary);
  if (!file) {
    if (errno == ENOENT || errno == ENOTDIR) return std::vector<Place>{};
    return std::unexpected(errno_error("read the list of Tangram's instances", path_));
  }
  Result<Contents> contents = parse(file, path_);
  if (!contents) return std::unexpected(std::move(contents.error()));
  if (contents->boot_id != boot_id_) return std::vector<Place>{};
  return std::move(contents->places);
}

Result<files::Descriptor> OwnedFile::lock_changes() const { return lock_file(path_ + ".changes"); }

Result<void> OwnedFile::record(const Place& place, bool is_owned) const {
  // A file of its own is locked: the list itself is replaced by every change.
  const std::string lock_path = path_ + ".lock";
  const auto lock = lock_file(lock_path);
  if (!lock) return std::unexpected(lock.error());
  Result<std::vector<Place>> places = read();
  if (!places) return std::unexpected(std::move(places.error()));
  const bool was_owned = std::ranges::find(*places, place) != places->end();
  if (was_owned == is_owned) return {};
  if (is_owned) {
    places->push_back(place);
  } else {
    std::erase(*places, place);
  }
  return write(*places);
}

Result<void> OwnedFile::write(const std::vector<Place>& places) const {
  const std::string temporary = path_ + ".new";
  {
    const files::Descriptor file = open_file(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC);
    if (file.get() < 0 || !write_all(file.get(), text_of(boot_id_, places))) {
      return std::unexpected(errno_error("write", temporary));
    }
  }
  if (::rename(temporary.c_str(), path_.c_str()) != 0) {
    return std::unexpected(errno_error("replace", path_));
  }
  const std::string folder = std::filesystem::path(path_).parent_path().string();
  const files::Descriptor directory =
      open_file(folder.empty() ? "." : folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory.get() < 0 || ::fsync(directory.get()) != 0) {
    return std::unexpected(errno_error("make lasting the folder of", path_));
  }
  return {};
}

Result<std::unique_ptr<Owned>> OwnedFile::open() const {
  Result<std::vector<Place>> places = read();
  if (!places) return std::unexpected(std::move(places.error()));
  return std::make_unique<Owned>(
      *std::move(places),
      [file = *this](const Place& place, bool is_owned) { return file.record(place, is_owned); });
}

}  // namespace tangram::device
