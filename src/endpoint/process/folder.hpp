// The folder of an endpoint, as the daemon uses it: created before tangram-endpoint is started, and
// the place of its control socket while it runs. The names of its files are in
// api/endpoint_spec.hpp and api/run_spec.hpp. No function here needs or affects a running endpoint.
#pragma once

#include <string>

#include "api/endpoint_spec.hpp"
#include "base/error.hpp"
#include "os/descriptor.hpp"

namespace tangram::endpoint {

// The exit codes of tangram-endpoint.
enum class EndpointExit : int {
  kDone = 0,             // shut down on request
  kFailed = 1,           // cannot serve: the reason is on standard error and the ready descriptor
  kUsage = 2,            // invalid arguments
  kAlreadyRunning = 10,  // another endpoint holds this folder; nothing was changed
  kCannotListen = 12,    // the address is in use, not on this machine, or not permitted
  kBadSpec = 13,         // spec.json is missing, damaged or of another version
};

// Creates the folder (0700; its parent must exist) and spec.json (0600), durably. An existing
// folder gets the new specification, which takes effect when an endpoint is started in it.
[[nodiscard]] Result<void> prepare_endpoint_folder(const std::string& folder,
                                                   const api::EndpointSpec& spec);

[[nodiscard]] Result<api::EndpointSpec> read_endpoint_folder(const std::string& folder);

// Whether an endpoint holds the lock of the folder; true if that cannot be told (out of
// descriptors, I/O error). Only queries the lock and never takes it.
[[nodiscard]] bool is_endpoint_running(const std::string& folder);

// Takes the lock of `folder` (an open directory); held until the returned descriptor is closed.
// Fails with kUnavailable if another endpoint holds it.
[[nodiscard]] Result<os::Descriptor> lock_endpoint_folder(int folder);

}  // namespace tangram::endpoint
