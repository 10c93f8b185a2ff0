// See audit.hpp.
#include "daemon/audit.hpp"

#include <sys/stat.h>
#include <utility>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <spdlog/logger.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/spdlog.h>

#include "api/job.hpp"
#include "base/text.hpp"
#include "daemon/clock.hpp"
#include "daemon/users.hpp"
#include "http/tcp_address.hpp"

namespace tangram::daemon {
namespace {

constexpr std::size_t kLargest = std::size_t{16} << 20U;
constexpr std::size_t kKept = 4;
constexpr std::size_t kLongestMethod = 16;
constexpr std::size_t kLongestTarget = 256;
constexpr std::size_t kLongestWhat = 512;

spdlog::file_event_handlers for_its_owner() {
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
                            path, kLargest, kKept, false, for_its_owner())) {
    logger.set_pattern("%v");
    logger.flush_on(spdlog::level::info);
    // A full disk must not stop the daemon; it is said, now and then, in its log.
    logger.set_error_handler(
        [](const std::string& what) { spdlog::error("the audit log: {}", what); });
  }
  spdlog::logger logger;
};

Audit::Audit(std::unique_ptr<File> file) : file_(std::move(file)) {}

Audit::~Audit() = default;

Result<std::unique_ptr<Audit>> Audit::open(const std::string& path) {
  try {
    return std::unique_ptr<Audit>(new Audit(std::make_unique<File>(path)));
  } catch (const spdlog::spdlog_ex& error) {
    return failed(cat("cannot write the audit log ", tangram::quoted(path), ": ", error.what(),
                      ". Give another file in log.audit."));
  }
}

void Audit::fill(http::Doors& doors) {
  // Goes with the door: nobody destroys the audit of a daemon that ends.
  std::shared_ptr<void> end(this, [this](void*) {
    for (Refusals* counted : {&strangers_, &users_}) {
      for (const Refusals::Report& each : counted->take_all()) write(each);
    }
  });
  doors.answered = [this, end = std::move(end)](const http::Caller& caller, std::string_view method,
                                                std::string_view target, int status,
                                                std::string_view what) {
    write(caller, method, target, status, what);
  };
}

// Users whom nobody knows count as one: somebody may have many numbers.
bool Audit::is_counted(const http::Caller& caller, int status, Refusals::Time now) {
  const bool stranger = !caller.address.empty() && !caller.token;
  if (stranger) return !strangers_.count({.network = http::network_of(caller.address)}, now);
  constexpr int kFirstRefusal = 400;
  if (status < kFirstRefusal) return false;
  const bool known = user_name(caller.uid) != std::to_string(caller.uid);
  return !users_.count(known ? Refusals::Who{.user = caller.uid} : Refusals::Who{}, now);
}

void Audit::write(const http::Caller& caller, std::string_view method, std::string_view target,
                  int status, std::string_view what) {
  const auto now = std::chrono::steady_clock::now();
  const bool counted = is_counted(caller, status, now);
  for (Refusals* each : {&strangers_, &users_}) {
    for (const Refusals::Report& report : each->take_due(now)) write(report);
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

void Audit::write(const Refusals::Report& report) {
  boost::json::object line{{"time", api::wall_text(Clock::wall())}};
  if (report.who.user) {
    line["user"] = user_name(*report.who.user);
    line["uid"] = *report.who.user;
  } else if (report.who.network.empty()) {
    line["user"] = "others";
  } else {
    line["address"] = report.who.network;
  }
  line["refused"] = report.count;
  file_->logger.info("{}", boost::json::serialize(line));
}

}  // namespace tangram::daemon
