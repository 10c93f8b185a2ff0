// See log_reader.hpp.
#include "http/logs/log_reader.hpp"

#include <algorithm>
#include <charconv>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "api/run_spec.hpp"
#include "base/text.hpp"
#include "os/lock.hpp"

namespace tangram::http {
namespace {

constexpr std::size_t kBlock = std::size_t{64} << 10U;
constexpr std::size_t kMaxRuns = INT32_MAX;                   // of a job, in a position
constexpr std::uint64_t kMaxTail = std::uint64_t{16} << 20U;  // bytes searched for lines

std::optional<FileIdentity> identity_of(int folder, const char* path, int flags) {
  struct statx status{};
  if (::statx(folder, path, flags, STATX_INO | STATX_BTIME | STATX_TYPE, &status) != 0) {
    return std::nullopt;
  }
  if (!S_ISREG(status.stx_mode)) return std::nullopt;
  const bool known = (status.stx_mask & STATX_BTIME) != 0;
  const auto seconds = static_cast<std::uint64_t>(status.stx_btime.tv_sec);
  return FileIdentity{status.stx_ino,
                      known ? seconds * 1'000'000'000 + status.stx_btime.tv_nsec : 0};
}

// The number of a rotated file: 3 for "NAME.3", 0 for NAME.
std::optional<int> age_of(std::string_view file, std::string_view name) {
  if (!file.starts_with(name)) return std::nullopt;
  file.remove_prefix(name.size());
  if (file.empty()) return 0;
  if (file.front() != '.') return std::nullopt;
  return parse_int(file.substr(1), 1, 1'000'000);
}

std::uint64_t size_of(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

// Whether the run has an exit record, which is written after its last output. The exit file is full
// of NUL bytes before that. A file that cannot be read has none.
bool has_exit_record(const std::string& run_folder) {
  const std::string path = cat(run_folder, '/', api::kExitFile);
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return false;
  char first = '\0';
  const bool has_record = ::pread(fd, &first, 1, 0) == 1 && first != '\0';
  ::close(fd);
  return has_record;
}

template <class T>
bool take(std::string_view& text, T& value, char end) {
  const auto [stop, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  if (end == '\0') return text.empty();
  if (!text.starts_with(end)) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::string to_text(const LogPosition& p) {
  return cat(p.run, '-', p.file.inode, '-', p.file.born, ':', p.offset);
}

std::optional<LogPosition> parse_position(std::string_view text) {
  LogPosition p;
  const bool read = take(text, p.run, '-') && take(text, p.file.inode, '-') &&
                    take(text, p.file.born, ':') && take(text, p.offset, '\0');
  if (!read || p.run > kMaxRuns || p.offset > INT64_MAX) return std::nullopt;
  return p;
}

LogReader::~LogReader() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::string LogReader::folder() const {
  return at_.run < source_.folders.size() ? source_.folders[at_.run] : "";
}

std::vector<LogReader::File> LogReader::list(const std::string& folder) const {
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(folder.c_str()), ::closedir);
  if (!open) return {};
  std::vector<std::pair<int, File>> found;
  while (const dirent* entry = ::readdir(open.get())) {
    const auto age = age_of(entry->d_name, name_);
    if (!age) continue;
    const auto identity = identity_of(::dirfd(open.get()), static_cast<const char*>(entry->d_name),
                                      AT_SYMLINK_NOFOLLOW);
    if (identity) found.emplace_back(*age, File{cat(folder, '/', entry->d_name), *identity});
  }
  std::ranges::sort(found, std::greater{}, [](const auto& f) { return f.first; });
  std::vector<File> files;
  for (auto& [age, file] : found) files.push_back(std::move(file));
  return files;
}

// A listing that is made during a rotation can be inconsistent: two equal ones in a row are not.
std::vector<LogReader::File> LogReader::files_of(std::size_t run) const {
  if (run >= source_.folders.size()) return {};
  std::vector<File> files = list(source_.folders[run]);
  for (int attempt = 0; attempt < 5; ++attempt) {
    std::vector<File> again = list(source_.folders[run]);
    if (again == files) break;
    files = std::move(again);
  }
  return files;
}

bool LogReader::open(const File& file) {
  const int fd = ::open(file.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return false;
  if (identity_of(fd, "", AT_EMPTY_PATH) != file.identity) {
    ::close(fd);
    return false;
  }
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = fd;
  at_.file = file.identity;
  at_.offset = 0;
  return true;
}

bool LogReader::open_oldest() {
  const std::vector<File> files = files_of(at_.run);
  return !files.empty() && open(files.front());
}

void LogReader::begin_at(const LogPosition& position) {
  at_.run = position.run;
  if (position.file == FileIdentity{}) return;
  for (const File& file : files_of(position.run)) {
    if (file.identity != position.file || !open(file)) continue;
    at_.offset = position.offset;
    return;
  }
  gap_ = true;
}

void LogReader::begin_at_tail(std::uint64_t lines) {
  std::uint64_t seen = 0;
  std::uint64_t newlines = 0;
  std::vector<char> block(kBlock);
  bool at_end = true;
  for (std::size_t run = source_.folders.size(); run-- > 0;) {
    const std::vector<File> files = files_of(run);
    for (std::size_t i = files.size(); i-- > 0;) {
      at_.run = run;
      if (!open(files[i])) continue;
      at_.offset = size_of(files[i].path);
      while (at_.offset > 0) {
        const std::uint64_t size = std::min<std::uint64_t>(kBlock, at_.offset);
        const LogPosition end = at_;
        at_.offset -= size;
        const std::size_t count = read_here({block.data(), static_cast<std::size_t>(size)});
        for (std::size_t byte = count; byte-- > 0;) {
          const bool last = std::exchange(at_end, false);
          if (lines == 0) {
            at_ = end;
            return;
          }
          // The newline at the end of the last line does not begin another one.
          if (block[byte] != '\n' || last || ++newlines < lines) continue;
          at_.offset += byte + 1;
          return;
        }
        seen += size;
        if (seen >= kMaxTail) return;
      }
    }
  }
}

std::size_t LogReader::read_here(std::span<char> buffer) const {
  const ssize_t count =
      ::pread(descriptor_, buffer.data(), buffer.size(), static_cast<off_t>(at_.offset));
  return count > 0 ? static_cast<std::size_t>(count) : 0;
}

bool LogReader::is_current() const {
  return identity_of(AT_FDCWD, cat(folder(), '/', name_).c_str(), AT_SYMLINK_NOFOLLOW) == at_.file;
}

// The next newer file of the run, if there is one.
std::optional<LogReader::File> LogReader::successor() {
  if (is_current()) return std::nullopt;
  const std::vector<File> files = files_of(at_.run);
  const auto here = std::ranges::find(files, at_.file, &File::identity);
  if (here == files.end()) {  // deleted by rotation: all that are left are newer
    if (files.empty()) return std::nullopt;
    gap_ = true;
    return files.front();
  }
  if (here + 1 == files.end()) return std::nullopt;
  return *(here + 1);
}

bool LogReader::waits_for_run() const {
  const std::string run = folder();
  return run.empty() || has_exit_record(run);
}

bool LogReader::has_run_ended() const {
  if (at_.run >= source_.folders.size()) return false;
  if (source_.folders.size() - at_.run == 1) return false;  // the last run
  if (source_.is_complete) return true;
  // A shim that was killed leaves no record, but holds the lock no more. A lock that cannot be
  // queried says nothing: the run may be writing.
  const std::string& folder = source_.folders[at_.run];
  return has_exit_record(folder) ||
         os::lock_state(cat(folder, '/', api::kLockFile)) == os::LockState::kFree;
}

bool LogReader::advance(const std::optional<File>& next, bool has_ended) {
  if (next) return open(*next);
  if (!has_ended) return false;
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  at_ = {at_.run + 1, {}, 0};
  return true;
}

std::optional<LogReader::Chunk> LogReader::read(std::span<char> buffer) {
  constexpr int kMaxSteps = 1'000;  // bounds the time spent on empty files
  const auto piece = [&](std::size_t size) {
    const Chunk result{size, at_, std::exchange(gap_, false)};
    at_.offset += size;
    return result;
  };
  for (int step = 0; step < kMaxSteps; ++step) {
    if (descriptor_ >= 0) {
      if (const std::size_t size = read_here(buffer)) return piece(size);
    }
    // The order matters: once the next file or run exists, this file is complete. So check for them
    // first and read the rest of this file after that.
    const bool has_ended = has_run_ended();
    if (descriptor_ < 0 && open_oldest()) continue;
    const std::optional<File> next = descriptor_ < 0 ? std::nullopt : successor();
    if (descriptor_ >= 0) {
      if (const std::size_t size = read_here(buffer)) return piece(size);
    }
    if (!advance(next, has_ended)) return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace tangram::http
