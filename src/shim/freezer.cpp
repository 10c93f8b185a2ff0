// See freezer.hpp.
#include "shim/freezer.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/text.hpp"
#include "shim/cgroup.hpp"
#include "shim/system.hpp"

namespace tangram::shim {
namespace {

constexpr std::chrono::milliseconds kTimeout{5'000};
constexpr std::chrono::milliseconds kPollInterval{2};

}  // namespace

void Freezer::request(ClientId client, std::int64_t id, bool frozen) {
  if (frozen != frozen_) respond_all(false, "superseded by a later request.");
  frozen_ = frozen;
  requesters_.push_back({client, id});
  const Moment now = boot_now();
  timeout_at_ = now + kTimeout;
  step(now);
}

std::optional<Moment> Freezer::deadline() const {
  if (requesters_.empty()) return std::nullopt;
  return next_;
}

void Freezer::on_deadline(Moment now) {
  if (!requesters_.empty() && now >= next_) step(now);
}

Result<void> Freezer::apply() {
  if (!mark_.cgroup.empty()) return freeze_cgroup(mark_.cgroup, frozen_);
  const auto signalled = signal_all(mark_, frozen_ ? SIGSTOP : SIGCONT);
  if (!signalled) set_problem(signalled.error().message);
  if (!signalled || signalled->unreachable.empty()) return {};
  const Unreachable& first = signalled->unreachable.front();
  return failed(cat("cannot signal process ", first.pid, " of the run: ", first.reason, "."));
}

// Logs the first of consecutive ones.
void Freezer::set_problem(const std::string& why) {
  if (!is_noted_) note(cat("cannot ", frozen_ ? "freeze" : "thaw", " the run yet: ", why));
  is_noted_ = true;
  problem_ = why;
}

bool Freezer::is_done() {
  if (!mark_.cgroup.empty()) return is_cgroup_frozen(mark_.cgroup) == frozen_;
  // SIGCONT works at once. SIGSTOP is delayed for a process in uninterruptible sleep (e.g. a parent
  // in vfork()), which stops before it runs again.
  if (!frozen_) return true;
  const auto found = processes_of(mark_);
  if (!found) set_problem(found.error().message);
  return found && std::ranges::all_of(*found, [](const Process& process) {
           return process.stopped || (process.uninterruptible && has_pending(process.pid, SIGSTOP));
         });
}

void Freezer::step(Moment now) {
  problem_.clear();
  if (const auto applied = apply(); !applied) {
    respond_all(false, applied.error().message);
    return;
  }
  if (problem_.empty() && is_done()) {
    respond_all(true, frozen_ ? "frozen" : "thawed");
    return;
  }
  if (now >= timeout_at_) {
    respond_all(false,
                cat("not all processes of the run were ", frozen_ ? "frozen" : "thawed", " within ",
                    kTimeout.count(), " ms", problem_.empty() ? "." : cat(": ", problem_)));
    return;
  }
  next_ = now + kPollInterval;
}

void Freezer::respond_all(bool ok, const std::string& detail) {
  is_noted_ = false;
  for (const Requester& requester : std::exchange(requesters_, {})) {
    respond_(requester.client, requester.id, ok, detail);
  }
}

}  // namespace tangram::shim
