// See audit.hpp.
#include "daemon/access/audit.hpp"

#include <filesystem>
#include <sys/stat.h>
#include <utility>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <spdlog/logger.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/spdlog.h>

#include "api/job.hpp"
#include "base/text.hpp"
#include "daemon/access/user_cache.hpp"
#include "daemon/engine/clock.hpp"
#include "os/tcp_address.hpp"

namespace tangram::daemon {
namespace {

constexpr std::size_t kLargest = std::size_t{16} << 20U;
constexpr std::size_t kKept = 4;
constexpr std::size_t kLongestMethod = 16;
constexpr std::size_t kLongestTarget = 256;
constexpr std::size_t kLongestWhat = 512;

spdlog::file_event_handlers owner_only() {
  spdlog::file_event_handlers handlers;
  handlers.after_open = [](const spdlog::filename_t&, std::FILE* file) {
    ::fchmod(::fileno(file), 0600);
  };
  return handlers;
}

}  // namespace

struct Audit::File {
  explicit File(const std::string& path)
      : logger("audit", std::make_shared<spdlog::sinks::rotating_file_sink_st>(
                            path, kLargest, kKept, false, owner_only())) {
    logger.set_pattern("%v");
    logger.flush_on(spdlog::level::info);
    // A full disk must not stop the daemon: errors go to its own log.
    logger.set_error_handler([](const std::string& what) { spdlog::error("audit log: {}", what); });
  }
  spdlog::logger logger;
};

Audit::Audit(std::unique_ptr<File> file) : file_(std::move(file)) {}

Audit::~Audit() = default;

Result<std::unique_ptr<Audit>> Audit::open(const std::string& path) {
  // spdlog would create it, with any rights.
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code ignored;
  if (!folder.empty() && !std::filesystem::is_directory(folder, ignored)) {
    return failed(cat("cannot write the audit log ", tangram::quoted(path), ": ",
                      tangram::quoted(folder.string()),
                      " is not an existing directory. Create it, or set another file in "
                      "log.audit."));
  }
  try {
    return std::unique_ptr<Audit>(new Audit(std::make_unique<File>(path)));
  } catch (const spdlog::spdlog_ex& error) {
    return failed(cat("cannot write the audit log ", tangram::quoted(path), ": ", error.what(),
                      ". Set another file in log.audit."));
  }
}

void Audit::register_handlers(http::ApiHandlers& handlers) {
  // Runs when the handler is destroyed; ~Audit() is not called when the daemon exits.
  std::shared_ptr<void> end(this, [this](void*) {
    for (RefusalLog* counted : {&unauthenticated_, &users_}) {
      for (const RefusalLog::Summary& each : counted->take_all()) write(each);
    }
  });
  handlers.on_answered = [this, end = std::move(end)](
                             const http::Caller& caller, std::string_view method,
                             std::string_view target, int status, std::string_view what) {
    write(caller, method, target, status, what);
  };
}

// Users without a name count as one source: one person may control many uids.
bool Audit::is_counted(const http::Caller& caller, int status, RefusalLog::Time now) {
  const bool unauthenticated = !caller.address.empty() && !caller.token;
  if (unauthenticated)
    return !unauthenticated_.add({.network = os::network_of(caller.address)}, now);
  constexpr int kFirstRefusal = 400;
  if (status < kFirstRefusal) return false;
  const bool known = user_name(caller.uid) != std::to_string(caller.uid);
  return !users_.add(known ? RefusalLog::Source{.user = caller.uid} : RefusalLog::Source{}, now);
}

void Audit::write(const http::Caller& caller, std::string_view method, std::string_view target,
                  int status, std::string_view what) {
  const auto now = std::chrono::steady_clock::now();
  const bool counted = is_counted(caller, status, now);
  for (RefusalLog* each : {&unauthenticated_, &users_}) {
    for (const RefusalLog::Summary& summary : each->take_due(now)) write(summary);
  }
  if (counted) return;
  boost::json::object line{{"time", api::wall_text(Clock::wall())},
                           {"user", user_name(caller.uid)},
                           {"uid", caller.uid}};
  if (caller.token) line["token"] = *caller.token;
  if (!caller.address.empty()) line["address"] = caller.address;
  if (caller.pid != 0) line["pid"] = caller.pid;
  line["method"] = printable(method.substr(0, kLongestMethod));
  line["target"] = printable(target.substr(0, kLongestTarget));
  line["status"] = status;
  if (!what.empty()) line["what"] = printable(what.substr(0, kLongestWhat));
  file_->logger.info("{}", boost::json::serialize(line));
}

void Audit::write(const RefusalLog::Summary& summary) {
  boost::json::object line{{"time", api::wall_text(Clock::wall())}};
  if (summary.source.user) {
    line["user"] = user_name(*summary.source.user);
    line["uid"] = *summary.source.user;
  } else if (summary.source.network.empty()) {
    line["user"] = "others";
  } else {
    line["address"] = summary.source.network;
  }
  line["refused"] = summary.count;
  file_->logger.info("{}", boost::json::serialize(line));
}

}  // namespace tangram::daemon
