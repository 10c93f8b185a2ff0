// See run_folder.hpp.
#include "shim/run_folder.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "base/text.hpp"
#include "files/read_file.hpp"
#include "shim/system.hpp"

namespace tangram::shim {
namespace {

constexpr std::size_t kLargestSpec = 32U << 20U;

std::string in(const std::string& folder, const char* name) { return cat(folder, "/", name); }

Result<void> sync_folder(const std::string& path) {
  const files::Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.ok() || ::fsync(folder.get()) != 0) {
    return system_failure("make lasting the folder", path, errno);
  }
  return {};
}

Result<void> write_durably(const std::string& path, std::string_view text) {
  const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW;
  const files::Descriptor file(::open(path.c_str(), flags, 0600));
  if (!file.ok()) return system_failure("make the file", path, errno);
  while (!text.empty()) {
    const ssize_t count = ::write(file.get(), text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_failure("write", path, errno);
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  if (::fsync(file.get()) != 0) return system_failure("make lasting", path, errno);
  return {};
}

// Arguments and environment of a process are bytes, not UTF-8; they pass as they are.
Result<boost::json::value> parse(const std::string& text, const std::string& path) {
  boost::json::parse_options options;
  options.allow_invalid_utf8 = true;
  boost::json::error_code code;
  boost::json::value document = boost::json::parse(text, code, {}, options);
  if (code)
    return invalid(cat("the file ", tangram::quoted(path), " is damaged: ", code.message(), "."));
  return document;
}

Result<std::optional<api::ExitRecord>> parse_exit(const std::string& text,
                                                  const std::string& path) {
  Result<boost::json::value> document = parse(text, path);
  if (!document) return std::unexpected(document.error());
  Result<api::ExitRecord> record = api::read_exit_record(*document);
  if (!record)
    return invalid(cat("the file ", tangram::quoted(path), ": ", record.error().message));
  return *record;
}

}  // namespace

Result<void> prepare_folder(const std::string& folder, const api::RunSpec& spec) {
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return system_failure("make the run's folder", folder, errno);
  }
  if (was_started(folder)) {
    return invalid(cat("cannot prepare ", tangram::quoted(folder),
                       " for a run: one was started in it before. Use a new folder."));
  }
  const std::string text = boost::json::serialize(api::to_json(spec)) + "\n";
  if (auto written = write_durably(in(folder, api::kSpecFile), text); !written) return written;
  if (auto synced = sync_folder(folder); !synced) return synced;
  const std::string parent = std::filesystem::path(folder).lexically_normal().parent_path();
  return sync_folder(parent.empty() ? "." : parent);
}

Result<api::RunSpec> read_spec(const std::string& folder) {
  const std::string path = in(folder, api::kSpecFile);
  const Result<std::string> text = files::read_file(path, "specification of the run", kLargestSpec);
  if (!text) return std::unexpected(text.error());
  const Result<boost::json::value> document = parse(*text, path);
  if (!document) return std::unexpected(document.error());
  return api::read_run_spec(*document);
}

bool was_started(const std::string& folder) {
  struct stat ignored{};
  return ::lstat(in(folder, api::kStartedFile).c_str(), &ignored) == 0 || errno != ENOENT;
}

Result<std::optional<Started>> read_started(const std::string& folder) {
  const std::string path = in(folder, api::kStartedFile);
  const Result<std::string> text = files::read_file(path, "note of a run's start", 65'536);
  if (!text && text.error().code == ErrorCode::kNotFound) return std::nullopt;
  if (!text) return std::unexpected(text.error());
  const Result<boost::json::value> document = parse(*text, path);
  if (!document) return std::unexpected(document.error());
  const auto* object = document->if_object();
  const auto* pid = object == nullptr ? nullptr : object->if_contains("shim");
  const auto* boot = object == nullptr ? nullptr : object->if_contains("boot");
  const auto* tag = object == nullptr ? nullptr : object->if_contains("tag");
  if (pid == nullptr || boot == nullptr || tag == nullptr || !pid->is_int64() ||
      !boot->is_string() || !tag->is_string()) {
    return invalid(
        cat("the file ", tangram::quoted(path), " is damaged: it names no shim, boot and tag."));
  }
  return Started{static_cast<int>(pid->get_int64()), std::string(boot->get_string()),
                 std::string(tag->get_string())};
}

bool shim_lives(const std::string& folder) {
  const files::Descriptor lock(::open(in(folder, api::kLockFile).c_str(), O_RDWR | O_CLOEXEC));
  if (!lock.ok()) return false;
  struct flock probe{};
  probe.l_type = F_WRLCK;
  return ::fcntl(lock.get(), F_OFD_GETLK, &probe) == 0 && probe.l_type != F_UNLCK;
}

Result<std::optional<api::ExitRecord>> read_exit(const std::string& folder) {
  const std::string path = in(folder, api::kExitFile);
  const Result<std::string> text = files::read_file(path, "record of a run's end", 65'536);
  if (!text && text.error().code == ErrorCode::kNotFound) return std::nullopt;
  if (!text) return std::unexpected(text.error());
  if (std::ranges::all_of(*text, [](char byte) { return byte == '\0'; })) return std::nullopt;
  Result<std::optional<api::ExitRecord>> record = parse_exit(*text, path);
  // What looks damaged while the shim lives is a record that is just being written.
  if (!record && shim_lives(folder)) return std::nullopt;
  return record;
}

Result<files::Descriptor> connect_control(const std::string& folder) {
  const std::string path = in(folder, api::kControlSocket);
  const files::Descriptor place(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!place.ok()) return system_failure("open the run's folder", folder, errno);
  files::Descriptor connection(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!connection.ok()) return system_failure("make a socket for", path, errno);
  // The address has room for 108 bytes only, so it goes through the open folder.
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  const std::string short_path = cat("/proc/self/fd/", place.get(), "/", api::kControlSocket);
  std::memcpy(address.sun_path, short_path.c_str(), short_path.size() + 1);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the socket interface wants it
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  if (::connect(connection.get(), generic, sizeof(address)) != 0) {
    return system_failure("speak to the run's shim at", path, errno);
  }
  return connection;
}

}  // namespace tangram::shim
