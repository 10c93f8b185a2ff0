// EventWriter: turns one step of the scheduler into events for people (api/event.hpp). It looks at
// the input before it is stepped and at the actions afterwards. A step that changes nothing adds no
// event.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/event.hpp"
#include "core/action.hpp"
#include "core/event.hpp"
#include "core/node.hpp"
#include "daemon/engine/job_table.hpp"

namespace tangram::daemon {

struct PendingEvent {
  std::uint64_t step = 0;  // sequence number in the journal
  api::EventView view;     // its id is assigned when the batch is committed
};

// The most important of a held job's causes (core::HoldCause bits), as text.
[[nodiscard]] std::string why_held(std::uint8_t holds, const store::JobRow& row);

class EventWriter {
 public:
  // Appends to `out`; `step` is the journal's sequence number of the step. The references must
  // outlive the writer.
  EventWriter(const core::Node& node, const JobTable& records, std::vector<PendingEvent>& out,
              std::uint64_t step)
      : node_(node), records_(records), out_(out), step_(step) {}

  // Call before `event` is stepped. `requested_by`: the user who requested it; may be empty.
  void add_event(const core::Event& event, const std::string& requested_by,
                 const std::string& reason);
  // Call after the step, with what the scheduler answered.
  void add_actions(std::span<const core::Action> actions);

 private:
  void add(const core::JobSubmitted& e);
  void add(const core::JobCancelled& e);
  void add(const core::GpuAdded& e);
  void add(const core::GpuHealth& e);
  void add(const core::GpuCordoned& e);
  void add(const core::GpuUncordoned& e);
  void add(const core::GpuDrained& e);
  void add(const core::MoveRequested& e);
  void add(const core::TrafficSwitched& e);
  void add(const core::TuningChanged& e);
  void add(const core::JobReport& report);
  void add(const core::MoveReport& report);
  void add(const core::GpuReport& report);
  void add(const core::StartJob& start);
  void add(const core::StopJob& stop);
  template <class Other>
  void add(const Other& /*not reported*/) {}

  api::EventView& append(std::string kind, std::string text);
  // `job_kind` or `lease_kind` is the event's kind; if that is empty, nothing is added.
  void add_job_event(std::uint64_t job, std::string_view job_kind, std::string_view lease_kind,
                     std::string_view text);
  void add_gpu_event(core::GpuId gpu, std::string_view kind, std::string_view text);
  [[nodiscard]] std::string why_held(std::uint64_t job) const;
  [[nodiscard]] std::string why_rolled_back(const core::MoveReport& report) const;
  [[nodiscard]] bool is_known(core::GpuId gpu) const;

  const core::Node& node_;
  const JobTable& records_;
  std::vector<PendingEvent>& out_;
  std::uint64_t step_;
  std::string requested_by_;
  std::string reason_;
  std::optional<std::uint64_t> submitted_;  // the job submitted in this step
  std::optional<std::uint64_t> cancelled_;  // the job cancelled in this step
};

}  // namespace tangram::daemon
