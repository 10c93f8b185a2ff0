// What a client may ask of the shim: a line of the control socket (api/run_spec.hpp) as a value.
// One rule: a line is understood whole or refused whole.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "base/error.hpp"

namespace tangram::shim {

struct StopRequest {
  std::optional<std::chrono::milliseconds> grace;  // none: the run's own
};
struct SignalRequest {
  int signal = 0;
  bool only_main = false;  // not to the rest of its group
};
struct ProbeRequest {
  std::int64_t id = 0;
};
struct FreezeRequest {
  std::int64_t id = 0;
  bool frozen = true;  // false: thaw
};
using Request = std::variant<StopRequest, SignalRequest, ProbeRequest, FreezeRequest>;

[[nodiscard]] Result<Request> parse_request(std::string_view text);

}  // namespace tangram::shim
