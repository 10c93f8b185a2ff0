// See folder.hpp.
#include "endpoint/folder.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <string_view>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <system_error>
#include <unistd.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "api/run_spec.hpp"
#include "base/text.hpp"
#include "files/read_file.hpp"

namespace tangram::endpoint {
namespace {

constexpr std::size_t kLargestSpec = 65'536;

std::string in(const std::string& folder, const char* name) { return cat(folder, "/", name); }

std::unexpected<Error> system_failure(std::string_view tried, std::string_view on) {
  return failed(cat("cannot ", tried, " ", tangram::quoted(on), ": ",
                    std::generic_category().message(errno), "."));
}

Result<void> sync_folder(const std::string& path) {
  const files::Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.ok() || ::fsync(folder.get()) != 0) {
    return system_failure("make lasting the folder", path);
  }
  return {};
}

Result<void> write_durably(const std::string& path, std::string_view text) {
  const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW;
  const files::Descriptor file(::open(path.c_str(), flags, 0600));
  if (!file.ok()) return system_failure("make the file", path);
  while (!text.empty()) {
    const ssize_t count = ::write(file.get(), text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_failure("write", path);
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  if (::fsync(file.get()) != 0) return system_failure("make lasting", path);
  return {};
}

// Under another name first: an endpoint that starts meanwhile finds the old one or the new one.
Result<void> replace_durably(const std::string& path, std::string_view text) {
  const std::string fresh = path + ".new";
  if (auto written = write_durably(fresh, text); !written) return written;
  if (::rename(fresh.c_str(), path.c_str()) != 0) return system_failure("replace", path);
  return {};
}

}  // namespace

Result<void> prepare_endpoint_folder(const std::string& folder, const api::EndpointSpec& spec) {
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return system_failure("make the endpoint's folder", folder);
  }
  const std::string text = boost::json::serialize(api::to_json(spec)) + "\n";
  if (auto written = replace_durably(in(folder, api::kSpecFile), text); !written) return written;
  if (auto synced = sync_folder(folder); !synced) return synced;
  const std::string parent = std::filesystem::path(folder).lexically_normal().parent_path();
  return sync_folder(parent.empty() ? "." : parent);
}

Result<api::EndpointSpec> read_endpoint_folder(const std::string& folder) {
  const std::string path = in(folder, api::kSpecFile);
  const Result<std::string> text =
      files::read_file(path, "specification of the endpoint", kLargestSpec);
  if (!text) return std::unexpected(text.error());
  boost::json::error_code code;
  const boost::json::value document = boost::json::parse(*text, code);
  if (code)
    return invalid(cat("the file ", tangram::quoted(path), " is damaged: ", code.message(), "."));
  Result<api::EndpointSpec> spec = api::read_endpoint_spec(document);
  if (!spec)
    return invalid(cat("cannot use the file ", tangram::quoted(path), ": ", spec.error().message));
  return spec;
}

bool endpoint_lives(const std::string& folder) {
  const files::Descriptor lock(::open(in(folder, api::kLockFile).c_str(), O_RDWR | O_CLOEXEC));
  if (!lock.ok()) return false;
  struct flock probe{};
  probe.l_type = F_WRLCK;
  return ::fcntl(lock.get(), F_OFD_GETLK, &probe) == 0 && probe.l_type != F_UNLCK;
}

Result<files::Descriptor> lock_endpoint_folder(int folder) {
  files::Descriptor lock(
      ::openat(folder, api::kLockFile, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock.ok()) return system_failure("make the file", api::kLockFile);
  // A lock of the open file, as flock() gives, but one that can be asked after without taking it.
  struct flock whole{};
  whole.l_type = F_WRLCK;
  if (::fcntl(lock.get(), F_OFD_SETLK, &whole) == 0) return lock;
  if (errno != EAGAIN && errno != EACCES) return system_failure("lock", api::kLockFile);
  return std::unexpected(Error{ErrorCode::kUnavailable,
                               "cannot serve: another endpoint holds this folder and serves."});
}

Result<files::Descriptor> connect_endpoint(const std::string& folder) {
  const std::string path = in(folder, api::kControlSocket);
  const files::Descriptor place(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!place.ok()) return system_failure("open the endpoint's folder", folder);
  files::Descriptor connection(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!connection.ok()) return system_failure("make a socket for", path);
  // The address has room for 108 bytes only, so it goes through the open folder.
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  const std::string short_path = cat("/proc/self/fd/", place.get(), "/", api::kControlSocket);
  std::memcpy(address.sun_path, short_path.c_str(), short_path.size() + 1);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the socket interface wants it
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  if (::connect(connection.get(), generic, sizeof(address)) != 0) {
    return system_failure("speak to the endpoint at", path);
  }
  return connection;
}

}  // namespace tangram::endpoint
