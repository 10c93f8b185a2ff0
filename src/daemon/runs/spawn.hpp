// Makes the RunSpec of a run and starts shims and endpoints. The environment of jobs (docs/jobs.md)
// is decided here; Supervisor::load_request() adds what the GPU, emulator and checkpoint need.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "api/job.hpp"
#include "api/run_spec.hpp"
#include "base/error.hpp"
#include "store/store.hpp"

namespace tangram::daemon {

class SystemdScope;

// The device name of an instance in the Container Device Interface (CDI).
[[nodiscard]] inline std::string cdi_name(const std::string& mig_uuid) {
  return "nvidia.com/gpu=" + mig_uuid;
}

// The RunSpec, except what depends on the daemon's configuration and on the user (user_cache.hpp).
[[nodiscard]] api::RunSpec make_spec(const store::JobRow& job, const api::JobRequest& request,
                                     const store::RunRow& run, std::optional<std::uint16_t> port);

// Starts a shim on the run folder and waits at most `time` until it has claimed the run, so that it
// is about to start the job, or reports why it cannot. Does not wait for anything that the job's
// user named: whether the job is executed is reported on its control socket. On an error nothing
// was run and the start can be retried. Blocks.
[[nodiscard]] Result<void> start_shim(const std::string& program, const std::string& folder,
                                      std::chrono::milliseconds time,
                                      SystemdScope* scope = nullptr);

// Starts an endpoint on its folder and waits at most `time` until it listens or reports why it
// cannot. Also succeeds if another endpoint holds the folder already. Blocks.
[[nodiscard]] Result<void> start_endpoint(const std::string& program, const std::string& folder,
                                          std::chrono::milliseconds time,
                                          SystemdScope* scope = nullptr);

// Whether no program listens on the port, on any address.
[[nodiscard]] bool has_no_listener(std::uint16_t port);
// Whether no socket is bound to the port either, not even one that does not listen (yet), or one of
// a connection that was closed within the last minute.
[[nodiscard]] bool is_port_unbound(std::uint16_t port);

}  // namespace tangram::daemon
