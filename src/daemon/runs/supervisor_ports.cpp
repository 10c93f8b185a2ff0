// See supervisor.hpp: between the choice of a port and the service's bind(), any user of the
// machine may take the port. Such a run is ended, and the scheduler starts the job again, on
// another port.
#include <unistd.h>

#include <spdlog/spdlog.h>

#include "base/text.hpp"
#include "daemon/access/user_cache.hpp"
#include "daemon/runs/spawn.hpp"
#include "daemon/runs/supervisor.hpp"
#include "daemon/runs/supervisor_threads.hpp"

namespace tangram::daemon {

// Only root can start services as other users than itself.
ProbeTarget Supervisor::probe_target(const Run& run) const {
  return {.port = run.port.value_or(0),
          .user = ::geteuid() == 0 ? run.uid : ::geteuid(),
          .socket_owner = threads_->socket_owner};
}

void Supervisor::end_for_port(const RunPtr& run, uid_t user) {
  run->is_port_taken = true;
  run->stop_reason = cat("port ", run->port.value_or(0), " is in use by user ", user_name(user));
  spdlog::warn("job {}: {}; ending run {}", run->job.value(), run->stop_reason, run->run.value());
  send_stop(run, std::chrono::milliseconds(0));
}

// A service that cannot bind its port usually exits before a probe finds out why. Its port was free
// when it was chosen, and its processes are gone, so if it never listened and the port cannot be
// bound now, another program has it.
void Supervisor::check_port_after_exit(Run& run) {
  const bool may_be_taken = run.job != core::JobId() && run.kind == api::JobKind::kService &&
                            run.has_request && run.port && !run.is_ready && !run.has_listened &&
                            !run.is_stop_requested && run.stop_reason.empty();
  if (!may_be_taken || is_port_unbound(*run.port)) return;
  run.is_port_taken = true;
  const auto owner = threads_->socket_owner->of_listener(*run.port);
  run.stop_reason = owner && *owner
                        ? cat("port ", *run.port, " is in use by user ", user_name(**owner))
                        : cat("port ", *run.port, " is in use by another program");
  spdlog::warn("job {}: {}; run {} has exited", run.job.value(), run.stop_reason, run.run.value());
}

}  // namespace tangram::daemon
