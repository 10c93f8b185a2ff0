// See folder.hpp.
#include "endpoint/folder.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "api/run_spec.hpp"
#include "base/text.hpp"
#include "files/durable.hpp"
#include "files/failure.hpp"
#include "files/lock.hpp"
#include "files/read_file.hpp"

namespace tangram::endpoint {
namespace {

constexpr std::size_t kLargestSpec = 65'536;

std::string in(const std::string& folder, const char* name) { return cat(folder, "/", name); }

}  // namespace

Result<void> prepare_endpoint_folder(const std::string& folder, const api::EndpointSpec& spec) {
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return files::system_failure("make the endpoint's folder", folder, errno);
  }
  const std::string text = boost::json::serialize(api::to_json(spec)) + "\n";
  auto written = files::replace_durably(in(folder, api::kSpecFile), text);
  if (!written) return written;
  return files::sync_with_parent(folder);
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
  return files::is_locked(in(folder, api::kLockFile));
}

Result<files::Descriptor> lock_endpoint_folder(int folder) {
  files::Descriptor lock(
      ::openat(folder, api::kLockFile, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock.ok()) return files::system_failure("make the file", api::kLockFile, errno);
  const int locked = files::take_lock(lock.get());
  if (locked == 0) return lock;
  if (locked != EAGAIN) return files::system_failure("lock", api::kLockFile, locked);
  return std::unexpected(Error{ErrorCode::kUnavailable,
                               "cannot serve: another endpoint holds this folder and serves."});
}

}  // namespace tangram::endpoint
