// The words of transcript.hpp for the enumerations of the core.
#include <array>
#include <cstddef>

#include "core/transcript.hpp"

namespace tangram::core {
namespace {

template <class Enum, std::size_t N>
std::string_view pick(const std::array<std::string_view, N>& words, Enum value) {
  const auto i = static_cast<std::size_t>(value);
  return i < N ? words[i] : std::string_view("?");
}

}  // namespace

std::string_view name_of(JobNews news) {
  static constexpr std::array<std::string_view, 14> kWords{
      "refused: no GPU of this node has its profile",
      "refused: there is a job of this id",
      "queued",
      "held",
      "placed",
      "running",
      "requeued",
      "finished",
      "failed",
      "cancelled",
      "failed: no instance could be made for it",
      "lost: its GPU is gone",
      "cannot be stopped; keeps its slices",
      "cannot be switched back; its traffic is stuck"};
  return pick(kWords, news);
}

std::string_view name_of(MoveNews news) {
  static constexpr std::array<std::string_view, 4> kWords{"begun", "done", "rolled back",
                                                          "taken over by the replica"};
  return pick(kWords, news);
}

std::string_view name_of(GpuNews news) {
  static constexpr std::array<std::string_view, 4> kWords{"quarantined", "quarantine ended",
                                                          "drained", "layout incomplete"};
  return pick(kWords, news);
}

std::string_view name_of(MoveKind kind) {
  static constexpr std::array<std::string_view, 4> kWords{"intra-GPU", "inter-GPU", "drain",
                                                          "asked"};
  return pick(kWords, kind);
}

std::string_view name_of(MovePhase phase) {
  static constexpr std::array<std::string_view, 7> kWords{
      "none", "creating", "starting", "switching", "draining", "stopping", "rolling back"};
  return pick(kWords, phase);
}

std::string_view name_of(JobPhase phase) {
  static constexpr std::array<std::string_view, 6> kWords{"held",     "queued",  "placed",
                                                          "starting", "running", "stopping"};
  return pick(kWords, phase);
}

std::string_view name_of(JobKind kind) {
  static constexpr std::array<std::string_view, 3> kWords{"batch", "service", "lease"};
  return pick(kWords, kind);
}

std::string_view name_of(EntryState state) {
  static constexpr std::array<std::string_view, 7> kWords{
      "reserved", "creating", "idle", "held", "destroying", "quarantined", "foreign"};
  return pick(kWords, state);
}

std::string_view name_of(Health health) {
  static constexpr std::array<std::string_view, 3> kWords{"ok", "unresponsive", "lost"};
  return pick(kWords, health);
}

std::string_view name_of(ActionKind kind) {
  static constexpr std::array<std::string_view, 5> kWords{"create", "destroy", "start", "switch",
                                                          "stop"};
  return pick(kWords, kind);
}

std::string_view name_of(Restart restart) {
  static constexpr std::array<std::string_view, 4> kWords{"never", "on-failure", "always",
                                                          "on-node-fault"};
  return pick(kWords, restart);
}

}  // namespace tangram::core
