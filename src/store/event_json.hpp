// Events as JSON, one line each: how the journal keeps them. An event stands for itself: a GPU
// that was added has its model with it (as the text of a model file), a change of tuning names its
// policies. One rule: read_event(event_json(e)) is e, for every event; what no event_json() wrote
// is an error.
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

// "job-ready": the kind alone.
[[nodiscard]] std::string_view event_kind(const core::Event& event);

}  // namespace tangram::store
