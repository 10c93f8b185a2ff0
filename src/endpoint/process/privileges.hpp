// Dropping privileges. Once it listens, the endpoint needs none of root's, and an attacker who
// takes it over should find none. The endpoint must not serve if dropping them fails.
#pragma once

#include <cstdint>

#include "api/endpoint_spec.hpp"
#include "base/error.hpp"
#include "endpoint/relay/log.hpp"

namespace tangram::endpoint {

// Drops all capabilities for good (no_new_privs), and the daemon's session keyring: a new one
// replaces it. If this process is root and `user` is set, it also becomes that user, or "nobody"
// (65534) if the user is root. Logs if the keyring is kept, e.g. because a container refuses
// keyctl(2).
[[nodiscard]] Result<void> drop_privileges(const std::optional<api::EndpointSpec::User>& user,
                                           Log& log);

// Raises the soft limit of open files to the hard limit; returns the limit now in force.
[[nodiscard]] std::uint64_t raise_file_limit();

}  // namespace tangram::endpoint
