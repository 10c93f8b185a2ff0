// Nodes for the tests of the method: a node described in a few words, the decisions of the paper's
// policies on it, and a driver that performs every action at once. Every decision is made twice,
// through the index and plainly, and the two must agree.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/scheduler.hpp"
#include "core/snapshot.hpp"

namespace tangram::paper {

// One GPU: jobs as "1:3g.20gb@4" (a job id, a profile, a start), idle instances as "2g.10gb@0".
struct GpuText {
  std::vector<std::string> jobs = {};
  std::vector<std::string> idle = {};
  std::string model = "A100-40GB";
};

[[nodiscard]] core::Node node_of(std::string_view threshold, const std::vector<GpuText>& gpus);
[[nodiscard]] mig::Occupancy occupied(const core::Node& node, std::uint32_t gpu);
[[nodiscard]] mig::Placement placement(const core::Node& node, std::uint32_t gpu,
                                       std::string_view text);

// The slot of an arrival by the paper's method; nothing: it is queued.
[[nodiscard]] std::optional<core::Slot> arrive(const core::Node& node, std::string_view profile);
// The next move for the GPU that was left.
[[nodiscard]] std::optional<core::Move> next_move(const core::Node& node, std::uint32_t gpu);

// "gpu 1 start 4 reuse" and "job 1 → gpu 1 start 4": short enough to compare.
[[nodiscard]] std::string text(const std::optional<core::Slot>& slot);
[[nodiscard]] std::string text(const std::optional<core::Move>& move);

// A scheduler with a driver that answers every action at once; `log` has the lines of the
// transcript.
class Driver {
 public:
  explicit Driver(std::uint32_t gpus, std::string_view threshold = "0.4");

  void submit(std::uint64_t job, std::string_view profile);
  void exit(std::uint64_t job);  // with success
  void send(const core::Event& event);
  void answer_all();
  [[nodiscard]] core::Actions take_open();  // answers are up to the caller from here on
  [[nodiscard]] const core::Scheduler& scheduler() const { return scheduler_; }

  std::vector<std::string> log;  // actions only, without reports and wake-ups

 private:
  void answer(const core::Action& action);

  core::Scheduler scheduler_;
  core::Actions open_;
};

}  // namespace tangram::paper
