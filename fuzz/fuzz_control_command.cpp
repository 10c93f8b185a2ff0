// Fuzzes the lines of an endpoint's control socket: nothing crashes, an error has a message, and
// the numbers of a parsed command are within their bounds.
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <variant>

#include "endpoint/relay/control_command.hpp"

namespace {

namespace endpoint = tangram::endpoint;

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto command =
      endpoint::parse_control_command(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!command) {
    require(!command.error().message.empty());
    return 0;
  }
  require(command->id >= 0);
  if (const auto* route = std::get_if<endpoint::RouteCommand>(&command->what)) {
    require(route->route.port > 0 && route->drain.count() >= 0);
  }
  if (const auto* end = std::get_if<endpoint::EndCommand>(&command->what)) {
    require(end->drain.count() >= 0);
  }
  return 0;
}
