// Happenings: the steps of the scheduler as news for people who follow along (api/event.hpp). It
// looks at an event before it is stepped and at what the scheduler answered. One rule: something
// that changed nothing is no news.
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
#include "daemon/records.hpp"

namespace tangram::daemon {

struct Happened {
  std::uint64_t step = 0;  // of the journal
  api::EventView view;     // its number is given with the batch
};

// Of a job's hold causes, the one that people should know first.
[[nodiscard]] std::string why_held(std::uint8_t holds, const std::string& profile);

class Happenings {
 public:
  Happenings(const core::Node& node, const Records& records, std::vector<Happened>& out,
             std::uint64_t step)
      : node_(node), records_(records), out_(out), step_(step) {}

  // `by` is who asked for it, if somebody did.
  void before(const core::Event& event, const std::string& by);
  void after(std::span<const core::Action> actions);

 private:
  void add(const core::JobSubmitted& e);
  void add(const core::GpuAdded& e);
  void add(const core::GpuHealth& e);
  void add(const core::GpuCordoned& e);
  void add(const core::GpuUncordoned& e);
  void add(const core::GpuDrained& e);
  void add(const core::MoveAsked& e);
  void add(const core::TrafficSwitched& e);
  void add(const core::TuningChanged& e);
  void add(const core::JobReport& report);
  void add(const core::MoveReport& report);
  void add(const core::GpuReport& report);
  void add(const core::StartJob& start);
  void add(const core::StopJob& stop);
  template <class Other>
  void add(const Other& /*no news*/) {}

  api::EventView& happen(std::string kind, std::string text);
  void happen_to(std::uint64_t job, std::string_view job_kind, std::string_view lease_kind,
                 std::string_view what);
  void happen_to(core::GpuId gpu, std::string_view kind, std::string_view what);
  [[nodiscard]] std::string why_held(std::uint64_t job) const;
  [[nodiscard]] std::string why_rolled_back(const core::MoveReport& report) const;
  [[nodiscard]] bool known(core::GpuId gpu) const;

  const core::Node& node_;
  const Records& records_;
  std::vector<Happened>& out_;
  std::uint64_t step_;
  std::string by_;
  std::optional<std::uint64_t> submitted_;  // in this step
};

}  // namespace tangram::daemon
