// NodeService: requests about the node as a whole: GPUs, tuning, status. Only admins may change it;
// every change is an event of the scheduler and durable before it is answered.
// Used on the loop only.
#pragma once

#include <cstdint>
#include <functional>

#include "daemon/access/access.hpp"
#include "daemon/engine/engine.hpp"
#include "daemon/views/views.hpp"
#include "http/routes/api_handlers.hpp"

namespace tangram::daemon {

class Supervisor;

class NodeService {
 public:
  NodeService(Engine& engine, Supervisor& supervisor, const Views& views, const Access& access)
      : engine_(engine), supervisor_(supervisor), views_(views), access_(access) {}

  void register_handlers(http::ApiHandlers& handlers);
  // Changes the tuning as the configuration file says; the policies it names exist. `edit_rows`
  // runs in the same transaction, also for an empty change.
  void apply_configured_tuning(const api::TuningChange& change,
                               std::function<void(JobTable&)> edit_rows);

 private:
  void change_gpu(const http::Caller& caller, std::uint32_t index, http::GpuAction action,
                  const http::Reply<api::GpuView>& reply);
  void tune(const http::Caller& caller, const api::TuningChange& change,
            const http::Reply<api::TuningView>& reply);
  [[nodiscard]] const core::Tuning& last_tuning() const;
  void post_tuning(const core::Tuning& tuning, Input input);
  [[nodiscard]] http::Answer<std::vector<api::OrphanView>> orphans(
      const http::Caller& caller) const;
  [[nodiscard]] http::Answer<api::OrphanView> end_orphan(const http::Caller& caller,
                                                         std::uint64_t run);
  [[nodiscard]] http::Answer<std::vector<std::string>> ready() const;
  [[nodiscard]] http::Answer<api::GpuView> gpu(std::uint32_t index) const;

  Engine& engine_;
  Supervisor& supervisor_;
  const Views& views_;
  const Access& access_;
  core::Tuning last_tuning_;  // requested last; durable if none is pending
  int pending_tunings_ = 0;
};

}  // namespace tangram::daemon
