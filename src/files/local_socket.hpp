// Sockets that lie in a folder as files do. One rule: the path of the folder may be longer than the
// 108 bytes that an address has room for, so it is always reached through the open folder.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "files/descriptor.hpp"

namespace tangram::files {

// Listens (not blocking) at `name` in an open folder, for its owner only (0600). One that is left
// there is replaced: the caller knows that nobody listens at it. `what` names it in messages: "the
// control socket of the run".
[[nodiscard]] Result<Descriptor> listen_in(int folder, const char* name, std::string_view what,
                                           int backlog);

// A connection (not blocking) to the socket `name` in the folder.
[[nodiscard]] Result<Descriptor> connect_in(const std::string& folder, const char* name);

}  // namespace tangram::files
