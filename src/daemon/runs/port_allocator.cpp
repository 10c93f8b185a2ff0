// See port_allocator.hpp.
#include "daemon/runs/port_allocator.hpp"

#include <algorithm>

#include "daemon/runs/spawn.hpp"

namespace tangram::daemon {

std::optional<std::uint16_t> PortAllocator::find_free(PortRange range, const JobTable& records) {
  const auto unused = find(range, records, is_port_unbound);
  return unused ? unused : find(range, records, has_no_listener);
}

std::optional<std::uint16_t> PortAllocator::find(PortRange range, const JobTable& records,
                                                 IsFree is_free) {
  const unsigned count = range.last - range.first + 1U;
  for (unsigned i = 0; i < count; ++i) {
    const auto port = static_cast<std::uint16_t>(range.first + (next_++ % count));
    const auto has_port = [&](const auto& each) {
      return !each.second.over && each.second.port == port;
    };
    // A queued service does not listen yet, but the port it requested is reserved.
    const bool taken = std::ranges::any_of(records.runs(), has_port) ||
                       std::ranges::any_of(records.jobs(), has_port);
    if (!taken && is_free(port)) return port;
  }
  return std::nullopt;
}

}  // namespace tangram::daemon
