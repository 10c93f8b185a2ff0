// Front: everything that callers meet, put together: who may do what, how things look, and the ones
// who answer. It exists so that the daemon itself knows only that there is a front. One rule: each
// of its parts fills its own doors, and none knows another but through what it is given here.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/error.hpp"
#include "daemon/cgroups.hpp"
#include "daemon/config.hpp"
#include "http/doors.hpp"

namespace boost::asio {
class io_context;
}

namespace tangram::daemon {

class Engine;
class Hardware;
class Leases;
class Endpoints;
class Supervisor;

class Front {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Front>> open(
      boost::asio::io_context& loop, Engine& engine, Hardware& hardware, Supervisor& supervisor,
      const Endpoints& endpoints, const Cgroups& cgroups, const Config& config);
  ~Front();
  Front(const Front&) = delete;
  Front& operator=(const Front&) = delete;
  Front(Front&&) = delete;
  Front& operator=(Front&&) = delete;

  [[nodiscard]] http::Doors doors();
  // Some of what the scheduler wants done is theirs.
  [[nodiscard]] Leases& leases();
  // Jobs whose records changed.
  void changed(const std::vector<std::uint64_t>& jobs);
  // What of the configuration callers notice: limits, admins.
  void reload(const Config& config);

 private:
  struct Parts;
  explicit Front(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace tangram::daemon
