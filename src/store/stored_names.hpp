// Names of the core's enumeration values in the store. They are separate from those of transcripts,
// because existing stores contain them: names must not change; append new ones at the end.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "core/action.hpp"
#include "core/entry_pool.hpp"
#include "core/job.hpp"
#include "core/node.hpp"
#include "core/timers.hpp"
#include "core/tuning.hpp"

namespace tangram::store {

// kStoredNames<Enum>[i] is the name of the value i.
template <class Enum>
inline constexpr std::array<std::string_view, 0> kStoredNames{};

template <>
inline constexpr std::array<std::string_view, 3> kStoredNames<core::JobKind>{"batch", "service",
                                                                             "lease"};
template <>
inline constexpr std::array<std::string_view, 4> kStoredNames<core::Restart>{
    "never", "on-failure", "always", "on-node-fault"};
template <>
inline constexpr std::array<std::string_view, 6> kStoredNames<core::JobPhase>{
    "held", "queued", "placed", "starting", "running", "stopping"};
template <>
inline constexpr std::array<std::string_view, 4> kStoredNames<core::MoveKind>{"intra", "inter",
                                                                              "drain", "asked"};
template <>
inline constexpr std::array<std::string_view, 7> kStoredNames<core::MovePhase>{
    "none", "creating", "starting", "switching", "draining", "stopping", "rolling-back"};
template <>
inline constexpr std::array<std::string_view, 7> kStoredNames<core::EntryState>{
    "reserved", "creating", "idle", "held", "destroying", "quarantined", "foreign"};
template <>
inline constexpr std::array<std::string_view, 3> kStoredNames<core::Health>{"ok", "unresponsive",
                                                                            "lost"};
template <>
inline constexpr std::array<std::string_view, 5> kStoredNames<core::ActionKind>{
    "create-instance", "destroy-instance", "start-job", "switch-traffic", "stop-job"};
template <>
inline constexpr std::array<std::string_view, 7> kStoredNames<core::TimerKind>{
    "cooldown", "plan", "queue", "quarantine", "stop", "layout", "window"};
template <>
inline constexpr std::array<std::string_view, 2> kStoredNames<core::Partitioning>{"dynamic",
                                                                                  "static"};

template <class Enum>
std::string_view stored_name(Enum value) {
  return kStoredNames<Enum>.at(static_cast<std::size_t>(value));
}

template <class Enum>
std::optional<Enum> from_stored_name(std::string_view word) {
  for (std::size_t i = 0; i < kStoredNames<Enum>.size(); ++i) {
    if (kStoredNames<Enum>[i] == word) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

// The causes of holds are bits, not consecutive values.
struct HoldCauseName {
  core::HoldCause cause;
  std::string_view name;
};
inline constexpr std::array<HoldCauseName, 5> kHoldCauseNames{{
    {core::kHoldUser, "user"},
    {core::kHoldUnservable, "unservable"},
    {core::kHoldLimit, "limit"},
    {core::kHoldDependency, "dependency"},
    {core::kHoldArray, "array"},
}};

template <>
inline std::string_view stored_name(core::HoldCause value) {
  for (const auto& [cause, name] : kHoldCauseNames) {
    if (cause == value) return name;
  }
  return kHoldCauseNames.front().name;
}

template <>
inline std::optional<core::HoldCause> from_stored_name(std::string_view word) {
  for (const auto& [cause, name] : kHoldCauseNames) {
    if (name == word) return cause;
  }
  return std::nullopt;
}

}  // namespace tangram::store
