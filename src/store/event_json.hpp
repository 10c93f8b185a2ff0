// Scheduler events as JSON lines for the journal. An event is self-contained: GpuAdded includes the
// GPU model (as the text of a model file), TuningChanged names its policies. read_event() returns
// exactly the event that event_json() wrote; any other input is an error.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "core/event.hpp"

namespace tangram::store {

inline constexpr int kEventVersion = 1;

// {"v":1,"kind":"job-ready","job":7,"run":3}
[[nodiscard]] std::string event_json(const core::Event& event);
[[nodiscard]] Result<core::Event> read_event(std::string_view text);

// The "kind" of the event's JSON, e.g. "job-ready".
[[nodiscard]] std::string_view event_kind(const core::Event& event);

}  // namespace tangram::store
