// See supervisor.hpp: what is said to clients and heard from them. The lines are described in
// api/run_spec.hpp.
#include <cerrno>
#include <csignal>
#include <poll.h>
#include <unistd.h>
#include <utility>
#include <variant>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "base/text.hpp"
#include "shim/request.hpp"
#include "shim/supervisor.hpp"
#include "shim/system.hpp"

namespace tangram::shim {
namespace {

namespace json = boost::json;

}  // namespace

std::string Supervisor::status_line() const {
  static constexpr const char* kNames[] = {"starting", "running", "stopping", "stopping", "over"};
  json::object status{{"version", api::kShimVersion},
                      {"state", kNames[static_cast<int>(phase_)]},
                      {"shim", ::getpid()},
                      {"pid", pid_ > 0 ? json::value(pid_) : json::value(nullptr)},
                      {"started_us", record_.started.time_since_epoch().count()}};
  if (phase_ == Phase::kOver) status["exit"] = api::to_json(record_);
  return json::serialize(status);
}

void Supervisor::announce() {
  const std::string line = status_line();
  control_.broadcast(line);
  if (phase_ == Phase::kRunning || phase_ == Phase::kOver) tell_ready(line);
}

// Once, to whoever started us; he may be gone, or not look.
void Supervisor::tell_ready(const std::string& line) {
  const files::Descriptor ready = std::exchange(ready_, files::Descriptor(-1));
  if (!ready.ok()) return;
  pollfd polled{.fd = ready.get(), .events = POLLOUT, .revents = 0};
  if (::poll(&polled, 1, 0) != 1 || (polled.revents & POLLOUT) == 0) return;
  const std::string text = line + "\n";
  [[maybe_unused]] const ssize_t written = ::write(ready.get(), text.data(), text.size());
}

void Supervisor::on_line(ClientId client, std::string_view line) {
  const Result<Request> request = parse_request(line);
  if (!request) {
    complain(client, request.error().message);
    return;
  }
  std::visit([&](const auto& what) { on_request(client, what); }, *request);
}

void Supervisor::complain(ClientId client, std::string_view mistake) {
  control_.send(client, json::serialize(json::object{{"error", mistake}}));
}

void Supervisor::on_request(ClientId /*client*/, const StopRequest& request) {
  if (phase_ < Phase::kKilling) record_.stopped = true;
  begin_stop(request.grace.value_or(spec_.grace));
}

void Supervisor::on_request(ClientId client, const SignalRequest& request) {
  if (freezer_.is_wanted()) {  // SIGCONT would let it go on beside its successor
    complain(client, "cannot signal the job: the run is frozen.");
    return;
  }
  const bool is_there = phase_ == Phase::kRunning || phase_ == Phase::kStopping;
  const int code = !is_there           ? ESRCH
                   : request.only_main ? signal_main(request.signal)
                                       : signal_group(request.signal);
  if (code != 0) complain(client, cat("cannot signal the job: ", why(code), "."));
}

void Supervisor::on_request(ClientId client, const ProbeRequest& request) {
  if (phase_ != Phase::kRunning) {
    probe_.refuse(client, request.id, "the job is not running.");
    return;
  }
  if (freezer_.is_wanted()) {
    probe_.refuse(client, request.id, "the run is frozen.");
    return;
  }
  probe_.ask(client, request.id);
}

void Supervisor::on_request(ClientId client, const FreezeRequest& request) {
  if (phase_ == Phase::kRunning) {
    freezer_.ask(client, request.id, request.frozen);
    return;
  }
  answer_as("done")(client, request.id, false, "the job is not running.");
}

Answer Supervisor::answer_as(const char* key) {
  return [this, key](ClientId client, std::int64_t id, bool ok, const std::string& detail) {
    control_.send(client, json::serialize(json::object{{key, id}, {"ok", ok}, {"detail", detail}}));
  };
}

// Only until the job is reaped: then its number may be another's.
int Supervisor::signal_group(int signal) const {
  if (!job_) return ESRCH;
  if (::kill(-job_->pid, signal) == 0) return 0;
  return signal_main(signal);  // before its setsid() the child has no group of its own
}

int Supervisor::signal_main(int signal) const {
  if (!job_) return ESRCH;
  return ::kill(job_->pid, signal) == 0 ? 0 : errno;
}

}  // namespace tangram::shim
