// See job_supervisor.hpp: the control socket. Its protocol is in api/run_spec.hpp.
#include <cerrno>
#include <csignal>
#include <poll.h>
#include <unistd.h>
#include <utility>
#include <variant>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "base/text.hpp"
#include "shim/job_supervisor.hpp"
#include "shim/request.hpp"
#include "shim/system.hpp"

namespace tangram::shim {
namespace {

namespace json = boost::json;

}  // namespace

std::string JobSupervisor::status_line() const {
  static constexpr const char* kNames[] = {"starting", "running", "stopping", "stopping", "over"};
  json::object status{{"version", api::kShimVersion},
                      {"state", kNames[static_cast<int>(phase_)]},
                      {"shim", ::getpid()},
                      {"pid", pid_ > 0 ? json::value(pid_) : json::value(nullptr)},
                      {"started_us", record_.started.time_since_epoch().count()},
                      {"takes_checkpoint", true}};
  if (phase_ == Phase::kEnded) status["exit"] = api::to_json(record_);
  return json::serialize(status);
}

void JobSupervisor::announce() {
  const std::string line = status_line();
  control_.broadcast(line);
  if (phase_ != Phase::kRunning && phase_ != Phase::kEnded) return;
  report_ready(line);
  ready_ = os::Descriptor(-1);
}

// Writes the line to the ready descriptor. Drops it if the starter is gone or does not read.
void JobSupervisor::report_ready(const std::string& line) const {
  if (!ready_.ok()) return;
  pollfd polled{.fd = ready_.get(), .events = POLLOUT, .revents = 0};
  if (::poll(&polled, 1, 0) != 1 || (polled.revents & POLLOUT) == 0) return;
  const std::string text = line + "\n";
  [[maybe_unused]] const ssize_t written = ::write(ready_.get(), text.data(), text.size());
}

void JobSupervisor::on_line(ClientId client, std::string_view line) {
  const Result<Request> request = parse_request(line);
  if (!request) {
    send_error(client, request.error().message);
    return;
  }
  std::visit([&](const auto& what) { on_request(client, what); }, *request);
}

void JobSupervisor::send_error(ClientId client, std::string_view error) {
  control_.send(client, json::serialize(json::object{{"error", error}}));
}

void JobSupervisor::on_request(ClientId /*client*/, const StopRequest& request) {
  if (phase_ < Phase::kKilling) record_.stopped = true;
  begin_stop(request.grace.value_or(spec_.grace));
}

void JobSupervisor::on_request(ClientId client, const SignalRequest& request) {
  if (freezer_.is_freeze_requested()) {  // SIGCONT would let it run beside its successor
    send_error(client, "cannot signal the job: the run is frozen.");
    return;
  }
  const bool is_there = phase_ == Phase::kRunning || phase_ == Phase::kStopping;
  int code = ESRCH;
  if (is_there) {
    code = request.only_main ? signal_main(request.signal) : signal_group(request.signal);
  }
  if (code != 0) send_error(client, cat("cannot signal the job: ", errno_text(code), "."));
}

void JobSupervisor::on_request(ClientId client, const ProbeRequest& request) {
  if (phase_ != Phase::kRunning) {
    probe_.refuse(client, request.id, "the job is not running.");
    return;
  }
  if (freezer_.is_freeze_requested()) {
    probe_.refuse(client, request.id, "the run is frozen.");
    return;
  }
  probe_.request(client, request.id);
}

void JobSupervisor::on_request(ClientId client, const FreezeRequest& request) {
  if (phase_ == Phase::kRunning) {
    freezer_.request(client, request.id, request.frozen);
    return;
  }
  respond_as("done")(client, request.id, false, "the job is not running.");
}

void JobSupervisor::on_request(ClientId client, const CheckpointRequest& request) {
  const Result<void> sent = request_checkpoint(request.signal);
  respond_as("done")(client, request.id, sent.has_value(), sent ? "" : sent.error().message);
}

// The handler is looked for right before the signal is sent: without one, the signal would end the
// job. The main process cannot be reaped in between, so its pid is not reused.
Result<void> JobSupervisor::request_checkpoint(int signal) const {
  if (freezer_.is_freeze_requested()) return failed("the run is frozen.");
  if (phase_ != Phase::kRunning || !job_) return failed("the job is not running.");
  if (!has_handler(job_->pid, signal)) return failed(api::no_handler_text(signal));
  const int code = signal_main(signal);
  if (code != 0) return failed(cat("cannot signal the job: ", errno_text(code), "."));
  return {};
}

ResponseCallback JobSupervisor::respond_as(const char* key) {
  return [this, key](ClientId client, std::int64_t id, bool ok, const std::string& detail) {
    control_.send(client, json::serialize(json::object{{key, id}, {"ok", ok}, {"detail", detail}}));
  };
}

// Only until the job is reaped: then its pid may be reused.
int JobSupervisor::signal_group(int signal) const {
  if (!job_) return ESRCH;
  if (::kill(-job_->pid, signal) == 0) return 0;
  return signal_main(signal);  // before its setsid() the child has no group of its own
}

int JobSupervisor::signal_main(int signal) const {
  if (!job_) return ESRCH;
  return ::kill(job_->pid, signal) == 0 ? 0 : errno;
}

}  // namespace tangram::shim
