// See run_folder.hpp.
#include "shim/run_folder.hpp"

#include <algorithm>
#include <cerrno>
#include <sys/stat.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "base/text.hpp"
#include "os/durable.hpp"
#include "os/local_socket.hpp"
#include "os/lock.hpp"
#include "os/read_file.hpp"
#include "shim/system.hpp"

namespace tangram::shim {
namespace {

constexpr std::size_t kLargestSpec = 32U << 20U;

std::string in(const std::string& folder, const char* name) { return cat(folder, "/", name); }

// Arguments and environment variables are bytes, not necessarily UTF-8; they are kept unchanged.
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
    return system_failure("create the run folder", folder, errno);
  }
  if (was_started(folder)) {
    return invalid(cat("cannot prepare ", tangram::quoted(folder),
                       " for a run: one was started in it before. Use a new folder."));
  }
  const std::string text = boost::json::serialize(api::to_json(spec)) + "\n";
  auto written = os::write_durably(in(folder, api::kSpecFile), text);
  if (!written) return written;
  return os::sync_with_parent(folder);
}

Result<api::RunSpec> read_spec(const std::string& folder) {
  const std::string path = in(folder, api::kSpecFile);
  const Result<std::string> text = os::read_file(path, "specification of the run", kLargestSpec);
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
  const Result<std::string> text = os::read_file(path, "note of a run's start", 65'536);
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
    return invalid(cat("the file ", tangram::quoted(path),
                       R"( is damaged: "shim", "boot" or "tag" is missing.)"));
  }
  return Started{static_cast<int>(pid->get_int64()), std::string(boot->get_string()),
                 std::string(tag->get_string())};
}

bool is_shim_running(const std::string& folder) {
  return os::lock_state(in(folder, api::kLockFile)) != os::LockState::kFree;
}

Result<std::optional<api::ExitRecord>> read_exit(const std::string& folder) {
  const std::string path = in(folder, api::kExitFile);
  const Result<std::string> text = os::read_file(path, "record of a run's end", 65'536);
  if (!text && text.error().code == ErrorCode::kNotFound) return std::nullopt;
  if (!text) return std::unexpected(text.error());
  if (std::ranges::all_of(*text, [](char byte) { return byte == '\0'; })) return std::nullopt;
  Result<std::optional<api::ExitRecord>> record = parse_exit(*text, path);
  // A record that looks damaged while the shim runs is just being written.
  if (!record && is_shim_running(folder)) return std::nullopt;
  return record;
}

Result<os::Descriptor> connect_control(const std::string& folder) {
  return os::connect_in(folder, api::kControlSocket);
}

}  // namespace tangram::shim
