// What the endpoint may do: less and less. Once it listens it needs no right of root, and whoever
// takes it over should find none. One rule: giving up is checked; who cannot give up does not
// serve.
#pragma once

#include <cstdint>

#include "api/endpoint_spec.hpp"
#include "base/error.hpp"

namespace tangram::endpoint {

// Becomes the user if this process is root, or nobody if the user is root; and can never become
// more again. None: it stays who it is, but without capabilities.
[[nodiscard]] Result<void> give_up_rights(const std::optional<api::EndpointSpec::User>& user);

// As many open files as are allowed; gives the number.
[[nodiscard]] std::uint64_t raise_file_limit();

}  // namespace tangram::endpoint
