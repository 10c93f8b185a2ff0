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

constexpr std::chrono::milliseconds kPatience{5'000};
constexpr std::chrono::milliseconds kPause{2};

}  // namespace

void Freezer::ask(ClientId client, std::int64_t id, bool frozen) {
  if (frozen != frozen_) conclude(false, "another request came in between.");
  frozen_ = frozen;
  asked_.push_back({client, id});
  const Moment now = boot_now();
  give_up_ = now + kPatience;
  step(now);
}

std::optional<Moment> Freezer::deadline() const {
  if (asked_.empty()) return std::nullopt;
  return next_;
}

void Freezer::on_time(Moment now) {
  if (!asked_.empty() && now >= next_) step(now);
}

Result<void> Freezer::push() {
  if (!mark_.cgroup.empty()) return freeze_cgroup(mark_.cgroup, frozen_);
  const Signalled signalled = signal_all(mark_, frozen_ ? SIGSTOP : SIGCONT);
  if (signalled.unreachable.empty()) return {};
  const Unreachable& first = signalled.unreachable.front();
  return failed(cat("cannot signal process ", first.pid, " of the run: ", first.reason, "."));
}

bool Freezer::is_done() const {
  if (!mark_.cgroup.empty()) return is_cgroup_frozen(mark_.cgroup) == frozen_;
  // SIGCONT works at once. SIGSTOP does not on one that the kernel holds (a parent in vfork(),
  // say); it stops before it runs again.
  return !frozen_ || std::ranges::all_of(processes_of(mark_), [](const Process& process) {
    return process.stopped || (process.held && has_pending(process.pid, SIGSTOP));
  });
}

void Freezer::step(Moment now) {
  if (const auto pushed = push(); !pushed) {
    conclude(false, pushed.error().message);
    return;
  }
  if (is_done()) {
    conclude(true, frozen_ ? "frozen" : "thawed");
    return;
  }
  if (now >= give_up_) {
    conclude(false, cat("not all processes of the run were ", frozen_ ? "frozen" : "thawed",
                        " within ", kPatience.count(), " ms."));
    return;
  }
  next_ = now + kPause;
}

void Freezer::conclude(bool ok, const std::string& detail) {
  for (const Asked& asked : std::exchange(asked_, {})) {
    answer_(asked.client, asked.id, ok, detail);
  }
}

}  // namespace tangram::shim
