// The endpoint: the process that owns the address of one service. It outlives the daemon and every
// replica, so that a service can be moved while its clients stay connected. One rule: it serves
// only once it holds the folder, listens, can be spoken to, and has no rights left that it does not
// need.
#pragma once

#include "endpoint/folder.hpp"
#include "files/start_arguments.hpp"

namespace tangram::endpoint {

// From the arguments to the ordered end, in this process. The ready descriptor gets one line:
// {"ready":true,"port":N} or {"ready":false,"error":"…"}.
[[nodiscard]] EndpointExit run_endpoint(const files::StartArguments& arguments);

}  // namespace tangram::endpoint
