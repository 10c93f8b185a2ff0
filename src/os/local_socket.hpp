// Unix sockets in a folder. The folder's path may exceed the 108 bytes of a socket address, so the
// socket is addressed through the open folder (/proc/self/fd/N/NAME).
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "os/descriptor.hpp"

namespace tangram::os {

// Creates a non-blocking listening socket `name` (mode 0600) in `folder`, an open directory. An
// existing one is replaced: the caller must know that no process listens on it. `what`: its name in
// messages, e.g. "the control socket of the run".
[[nodiscard]] Result<Descriptor> listen_in(int folder, const char* name, std::string_view what,
                                           int backlog);

// Connects to the socket `name` in the folder; the returned descriptor is non-blocking.
[[nodiscard]] Result<Descriptor> connect_in(const std::string& folder, const char* name);

}  // namespace tangram::os
