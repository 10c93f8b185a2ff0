// The requests of the control socket (api/run_spec.hpp), parsed. A line is accepted or rejected as
// a whole.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "base/error.hpp"

namespace tangram::shim {

struct StopRequest {
  std::optional<std::chrono::milliseconds> grace;  // nullopt: the run's own
};
struct SignalRequest {
  int signal = 0;
  bool only_main = false;  // the main process, not its group
};
struct ProbeRequest {
  std::int64_t id = 0;
};
struct FreezeRequest {
  std::int64_t id = 0;
  bool frozen = true;  // false: thaw
};
struct CheckpointRequest {
  std::int64_t id = 0;
  int signal = 0;
};
using Request =
    std::variant<StopRequest, SignalRequest, ProbeRequest, FreezeRequest, CheckpointRequest>;

[[nodiscard]] Result<Request> parse_request(std::string_view text);

}  // namespace tangram::shim
