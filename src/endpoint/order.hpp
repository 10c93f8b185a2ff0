// What a client of the control socket may order: a line (api/endpoint_spec.hpp) as a value. One
// rule: a line is understood whole or refused whole.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>
#include <variant>

#include "base/error.hpp"
#include "endpoint/routes.hpp"

namespace tangram::endpoint {

struct RouteOrder {
  Route route;
  std::chrono::milliseconds drain{};
};
struct HoldOrder {};
struct CountsOrder {};
struct EndOrder {
  std::chrono::milliseconds drain{};
};

struct Order {
  std::int64_t id = 0;
  std::variant<RouteOrder, HoldOrder, CountsOrder, EndOrder> what;
};

[[nodiscard]] Result<Order> parse_order(std::string_view text);

}  // namespace tangram::endpoint
