// The endpoint: the process that owns the address of one service. It outlives the daemon and every
// replica, so that a service can be moved while its clients stay connected. It reports "ready" only
// after it has locked its folder, listens on the address and the control socket, and has dropped
// its privileges.
#pragma once

#include "endpoint/process/folder.hpp"
#include "os/start_arguments.hpp"

namespace tangram::endpoint {

// Runs the endpoint in this process until it is told to end; returns the exit code. Writes one line
// to the ready descriptor: {"ready":true,"port":N} or {"ready":false,"error":"…"}.
[[nodiscard]] EndpointExit run_endpoint(const os::StartArguments& arguments);

}  // namespace tangram::endpoint
