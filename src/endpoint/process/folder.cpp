// See folder.hpp.
#include "endpoint/process/folder.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "api/run_spec.hpp"
#include "base/text.hpp"
#include "os/durable.hpp"
#include "os/failure.hpp"
#include "os/lock.hpp"
#include "os/read_file.hpp"

namespace tangram::endpoint {
namespace {

constexpr std::size_t kLargestSpec = 65'536;

std::string in(const std::string& folder, const char* name) { return cat(folder, "/", name); }

}  // namespace

Result<void> prepare_endpoint_folder(const std::string& folder, const api::EndpointSpec& spec) {
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return os::system_failure("create the endpoint's folder", folder, errno);
  }
  const std::string text = boost::json::serialize(api::to_json(spec)) + "\n";
  auto written = os::replace_durably(in(folder, api::kSpecFile), text);
  if (!written) return written;
  return os::sync_with_parent(folder);
}

Result<api::EndpointSpec> read_endpoint_folder(const std::string& folder) {
  const std::string path = in(folder, api::kSpecFile);
  const Result<std::string> text =
      os::read_file(path, "specification of the endpoint", kLargestSpec);
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

bool is_endpoint_running(const std::string& folder) {
  return os::lock_state(in(folder, api::kLockFile)) != os::LockState::kFree;
}

Result<os::Descriptor> lock_endpoint_folder(int folder) {
  os::Descriptor lock(
      ::openat(folder, api::kLockFile, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock.ok()) return os::system_failure("create the file", api::kLockFile, errno);
  const int locked = os::take_lock(lock.get());
  if (locked == 0) return lock;
  if (locked != EAGAIN) return os::system_failure("lock", api::kLockFile, locked);
  return std::unexpected(
      Error{ErrorCode::kUnavailable, "cannot serve: another endpoint is running in this folder"});
}

}  // namespace tangram::endpoint
