// Transcript: events and actions as text, one line each (scenarios, simulator, daemon log). A line
// has everything needed to follow the run, and nothing that could differ between two runs of the
// same events.
#pragma once

#include <string>
#include <string_view>

#include "core/action.hpp"
#include "core/event.hpp"
#include "core/node.hpp"

namespace tangram::core {

// "create i3 2g.10gb@4 on gpu 0"
[[nodiscard]] std::string to_text(const Node& node, const Action& action);
// "instance i3 on gpu 0 created"
[[nodiscard]] std::string to_text(const Node& node, const Event& event);
// "gpu 0 A100-40GB  Lazy 0.286 FragCost 0/1  job 1 2g.10gb@4 (running) | idle 1g.5gb@6"
[[nodiscard]] std::string gpu_line(const Node& node, GpuId gpu);

// "12.5s"; "never" for the end of time.
[[nodiscard]] std::string instant_text(Instant when);

[[nodiscard]] std::string_view name_of(JobNews news);
[[nodiscard]] std::string_view name_of(MoveNews news);
[[nodiscard]] std::string_view name_of(GpuNews news);
[[nodiscard]] std::string_view name_of(MoveKind kind);
[[nodiscard]] std::string_view name_of(MovePhase phase);
[[nodiscard]] std::string_view name_of(JobPhase phase);
[[nodiscard]] std::string_view name_of(JobKind kind);
[[nodiscard]] std::string_view name_of(EntryState state);
[[nodiscard]] std::string_view name_of(Health health);
[[nodiscard]] std::string_view name_of(ActionKind kind);
[[nodiscard]] std::string_view name_of(Restart restart);

}  // namespace tangram::core
