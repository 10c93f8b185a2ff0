// ApiService: everything behind the API: authorization, limits, views and the services that handle
// requests. The daemon knows only this class; each service registers its own handlers. Used on the
// loop only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <sys/types.h>
#include <vector>

#include "base/error.hpp"
#include "daemon/config/config.hpp"
#include "daemon/runs/cgroups.hpp"
#include "http/routes/api_handlers.hpp"

namespace boost::asio {
class io_context;
}

namespace tangram::daemon {

class Engine;
class JobTable;
class Hardware;
class Leases;
class Endpoints;
class Supervisor;

class ApiService {
 public:
  [[nodiscard]] static Result<std::unique_ptr<ApiService>> open(
      boost::asio::io_context& loop, Engine& engine, Hardware& hardware, Supervisor& supervisor,
      const Endpoints& endpoints, const Cgroups& cgroups, const Config& config);
  ~ApiService();
  ApiService(const ApiService&) = delete;
  ApiService& operator=(const ApiService&) = delete;
  ApiService(ApiService&&) = delete;
  ApiService& operator=(ApiService&&) = delete;

  [[nodiscard]] http::ApiHandlers handlers();
  // Executes the scheduler's actions for leases.
  [[nodiscard]] Leases& leases();
  // Call with jobs whose rows changed, once that is durable.
  void on_jobs_changed(const std::vector<std::uint64_t>& jobs);
  // Call when everything is recovered: hooks get what an earlier daemon did not report.
  void start_hooks();
  // Call for every child of the daemon that was reaped.
  void on_child_ended(pid_t pid, int status);
  // Call with runs whose folders are removed: their logs no longer count.
  void forget_logs(const std::vector<std::uint32_t>& runs);
  // Changes the tuning as the configuration file says, with `edit_rows` in the same transaction.
  void apply_configured_tuning(const api::TuningChange& change,
                               std::function<void(JobTable&)> edit_rows);
  // Applies changes of the admins' group, limits, leases and hooks.
  void reload(const Config& config);

 private:
  struct Parts;
  explicit ApiService(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace tangram::daemon
