// The words that stand for the core's enumerations in what is stored. They are apart from the
// transcript's because they may never change: stores of older versions have them. One rule: a word
// is only ever added, at the end.
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

// kWords<Enum>[i] is the word of the value i.
template <class Enum>
inline constexpr std::array<std::string_view, 0> kWords{};

template <>
inline constexpr std::array<std::string_view, 3> kWords<core::JobKind>{"batch", "service", "lease"};
template <>
inline constexpr std::array<std::string_view, 3> kWords<core::Restart>{"never", "on-failure",
                                                                       "always"};
template <>
inline constexpr std::array<std::string_view, 6> kWords<core::JobPhase>{
    "held", "queued", "placed", "starting", "running", "stopping"};
template <>
inline constexpr std::array<std::string_view, 4> kWords<core::MoveKind>{"intra", "inter", "drain",
                                                                        "asked"};
template <>
inline constexpr std::array<std::string_view, 7> kWords<core::MovePhase>{
    "none", "creating", "starting", "switching", "draining", "stopping", "rolling-back"};
template <>
inline constexpr std::array<std::string_view, 7> kWords<core::EntryState>{
    "reserved", "creating", "idle", "held", "destroying", "quarantined", "foreign"};
template <>
inline constexpr std::array<std::string_view, 3> kWords<core::Health>{"ok", "unresponsive", "lost"};
template <>
inline constexpr std::array<std::string_view, 5> kWords<core::ActionKind>{
    "create-instance", "destroy-instance", "start-job", "switch-traffic", "stop-job"};
template <>
inline constexpr std::array<std::string_view, 7> kWords<core::TimerKind>{
    "cooldown", "plan", "queue", "quarantine", "stop", "layout", "window"};
template <>
inline constexpr std::array<std::string_view, 2> kWords<core::Partitioning>{"dynamic", "static"};

template <class Enum>
std::string_view word_of(Enum value) {
  return kWords<Enum>.at(static_cast<std::size_t>(value));
}

template <class Enum>
std::optional<Enum> from_word(std::string_view word) {
  for (std::size_t i = 0; i < kWords<Enum>.size(); ++i) {
    if (kWords<Enum>[i] == word) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace tangram::store
