// Operator: what is asked about the node as a whole: its GPUs taken out of service and back, its
// tuning, how it stands. One rule: whoever changes the node is an admin, and every change is an
// event of the scheduler, on the disk before it is answered.
#pragma once

#include <cstdint>

#include "daemon/access.hpp"
#include "daemon/engine.hpp"
#include "daemon/views.hpp"
#include "http/doors.hpp"

namespace tangram::daemon {

class Operator {
 public:
  Operator(Engine& engine, const Views& views, const Access& access)
      : engine_(engine), views_(views), access_(access) {}

  void fill(http::Doors& doors);

 private:
  void change_gpu(const http::Caller& caller, std::uint32_t index, http::GpuDeed deed,
                  const http::Reply<api::GpuView>& reply);
  void tune(const http::Caller& caller, const api::TuningChange& change,
            const http::Reply<api::TuningView>& reply);
  [[nodiscard]] http::Answer<api::GpuView> gpu(std::uint32_t index) const;

  Engine& engine_;
  const Views& views_;
  const Access& access_;
  core::Tuning last_tuning_;  // that was asked for
  int tunings_under_way_ = 0;
};

}  // namespace tangram::daemon
