// Fuzzes the lines of an endpoint's control socket: whatever they are, nothing crashes, a refusal
// says why, and what is understood is within its bounds.
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <variant>

#include "endpoint/order.hpp"

namespace {

namespace endpoint = tangram::endpoint;

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto order =
      endpoint::parse_order(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!order) {
    require(!order.error().message.empty());
    return 0;
  }
  require(order->id >= 0);
  if (const auto* route = std::get_if<endpoint::RouteOrder>(&order->what)) {
    require(route->route.port > 0 && route->drain.count() >= 0);
  }
  if (const auto* end = std::get_if<endpoint::EndOrder>(&order->what)) {
    require(end->drain.count() >= 0);
  }
  return 0;
}
