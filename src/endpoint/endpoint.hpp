// The endpoint: the process that owns the address of one service. It outlives the daemon and every
// replica, so that a service can be moved while its clients stay connected. One rule: it serves
// only once it holds the folder, listens, can be spoken to, and has no rights left that it does not
// need.
#pragma once

#include <string>

#include "endpoint/folder.hpp"

namespace tangram::endpoint {

struct Options {
  std::string folder;
  int ready_fd = -1;  // gets one line: {"ready":true,"port":N} or {"ready":false,"error":"…"}
};

// From the arguments to the ordered end, in this process.
[[nodiscard]] EndpointExit run_endpoint(const Options& options);

}  // namespace tangram::endpoint
