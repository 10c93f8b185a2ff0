// From a job's request to a shim at work: the spec of a run, and the start of its shim. One rule:
// what a job finds in its environment is decided here, and documented in docs/jobs.md.
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

// The name of an instance for the Container Device Interface.
[[nodiscard]] inline std::string cdi_name(const std::string& mig_uuid) {
  return "nvidia.com/gpu=" + mig_uuid;
}

// All but what depends on the daemon's configuration and on the user (users.hpp).
[[nodiscard]] api::RunSpec make_spec(const store::JobRow& job, const api::JobRequest& request,
                                     const store::RunRow& run, std::optional<std::uint16_t> port);

// Starts a shim on the folder and waits until it says that the job runs, or that it could not be
// executed. An error: nothing was run, and it can be tried again. Blocks.
[[nodiscard]] Result<void> start_shim(const std::string& program, const std::string& folder,
                                      std::chrono::milliseconds time);

// Starts an endpoint on its folder and waits until it listens, or says why it cannot. That another
// one holds the folder already is as good. Blocks.
[[nodiscard]] Result<void> start_endpoint(const std::string& program, const std::string& folder,
                                          std::chrono::milliseconds time);

// Nobody listens on it now, on any address.
[[nodiscard]] bool port_is_free(std::uint16_t port);

}  // namespace tangram::daemon
