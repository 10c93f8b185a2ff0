// ControlCommand: a parsed line of the control socket. The protocol is in api/endpoint_spec.hpp.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>
#include <variant>

#include "base/error.hpp"
#include "endpoint/relay/routes.hpp"

namespace tangram::endpoint {

struct RouteCommand {
  Route route;
  std::chrono::milliseconds drain{};
};
struct HoldCommand {};
struct CountsCommand {};
struct EndCommand {
  std::chrono::milliseconds drain{};
};

struct ControlCommand {
  std::int64_t id = 0;
  std::variant<RouteCommand, HoldCommand, CountsCommand, EndCommand> what;
};

// Fails with a message for the client if any part of the line is invalid.
[[nodiscard]] Result<ControlCommand> parse_control_command(std::string_view text);

}  // namespace tangram::endpoint
