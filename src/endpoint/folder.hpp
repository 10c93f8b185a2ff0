// The folder of an endpoint, as the daemon sees it: made before tangram-endpoint is started, and
// where it is reached while it lives. The names of its files are in api/endpoint_spec.hpp and
// api/run_spec.hpp. One rule: nothing here needs a living endpoint, and nothing here disturbs one.
#pragma once

#include <string>

#include "api/endpoint_spec.hpp"
#include "base/error.hpp"
#include "files/descriptor.hpp"

namespace tangram::endpoint {

// How tangram-endpoint ends.
enum class EndpointExit : int {
  kDone = 0,    // its end was ordered
  kFailed = 1,  // it could not serve: the reason is on standard error and the ready descriptor
  kUsage = 2,   // wrong arguments
  kAlreadyRunning = 10,  // another one holds this folder; nothing was done
  kCannotListen = 12,    // the address is taken, not of this machine, or not allowed
  kBadSpec = 13,         // spec.json is missing, damaged or of another version
};

// Makes the folder (0700; its parent must exist) and spec.json (0600), durably. A folder that is
// there already gets the new specification, which is read when an endpoint is started in it.
[[nodiscard]] Result<void> prepare_endpoint_folder(const std::string& folder,
                                                   const api::EndpointSpec& spec);

[[nodiscard]] Result<api::EndpointSpec> read_endpoint_folder(const std::string& folder);

// Whether an endpoint holds the folder. It does not take the lock, so it gets in nobody's way.
[[nodiscard]] bool endpoint_lives(const std::string& folder);

// The lock of the folder, kept as long as it is open. Unavailable: another endpoint has it.
[[nodiscard]] Result<files::Descriptor> lock_endpoint_folder(int folder);

}  // namespace tangram::endpoint
