// See ports.hpp.
#include "daemon/ports.hpp"

#include <algorithm>

#include "daemon/spawn.hpp"

namespace tangram::daemon {

std::optional<std::uint16_t> Ports::find_free(PortRange range, const Records& records) {
  const unsigned count = range.last - range.first + 1U;
  for (unsigned i = 0; i < count; ++i) {
    const auto port = static_cast<std::uint16_t>(range.first + (next_++ % count));
    const auto has_it = [&](const auto& each) {
      return !each.second.over && each.second.port == port;
    };
    // A service that waits listens nowhere yet, but the port it asked for is its own.
    const bool taken =
        std::ranges::any_of(records.runs(), has_it) || std::ranges::any_of(records.jobs(), has_it);
    if (!taken && port_is_free(port)) return port;
  }
  return std::nullopt;
}

}  // namespace tangram::daemon
