// Reception: what callers ask of the daemon, checked and answered: who may do what, whether a
// request can be served on this node, and how jobs and GPUs look to them. It fills http::Doors. One
// rule: it decides nothing about GPUs; it posts inputs to the engine and reads its records.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/job.hpp"
#include "api/node.hpp"
#include "daemon/cgroups.hpp"
#include "daemon/engine.hpp"
#include "http/doors.hpp"

namespace boost::asio {
class io_context;
}

namespace tangram::daemon {

class Hardware;
class Supervisor;

class Reception {
 public:
  Reception(boost::asio::io_context& loop, Engine& engine, Hardware& hardware,
            Supervisor& supervisor, const Cgroups& cgroups, bool emulated);

  [[nodiscard]] http::Doors doors();
  // Jobs whose records changed: those who wait for them are answered.
  void changed(const std::vector<std::uint64_t>& jobs);

 private:
  using Caller = http::Caller;
  template <class T>
  using Answer = http::Answer<T>;
  template <class T>
  using Reply = http::Reply<T>;
  struct Waiter {
    http::WaitFor what = http::WaitFor::kOver;
    Caller caller;
    Reply<api::JobView> reply;
  };

  void submit(const Caller& caller, const api::JobRequest& request,
              const Reply<std::uint64_t>& reply);
  [[nodiscard]] Answer<std::vector<api::JobView>> jobs(const Caller& caller,
                                                       const http::JobFilter& filter);
  [[nodiscard]] Answer<api::JobView> job(const Caller& caller, std::uint64_t id);
  void cancel(const Caller& caller, std::uint64_t id, const Reply<api::JobView>& reply);
  void signal(const Caller& caller, std::uint64_t id, int signal, const Reply<void>& reply);
  [[nodiscard]] std::shared_ptr<void> wait(const Caller& caller, std::uint64_t id,
                                           http::WaitFor what, const Reply<api::JobView>& reply);
  [[nodiscard]] Answer<http::LogSource> logs(const Caller& caller, std::uint64_t id);
  [[nodiscard]] Answer<std::vector<api::GpuView>> gpus(const Caller& caller) const;
  [[nodiscard]] Answer<api::StatusView> status(const Caller& caller) const;

  [[nodiscard]] Answer<void> admit(const Caller& caller) const;
  [[nodiscard]] Answer<store::JobRow> find(const Caller& caller, std::uint64_t id);
  [[nodiscard]] Answer<store::JobRow> find_own(const Caller& caller, std::uint64_t id,
                                               std::string_view deed);
  [[nodiscard]] Answer<std::string> choose_profile(const api::JobRequest& request) const;
  [[nodiscard]] Answer<void> check_limits(const api::JobRequest& request) const;
  [[nodiscard]] api::JobView outline(const store::JobRow& row) const;
  [[nodiscard]] std::string why_waiting(const store::JobRow& row) const;
  [[nodiscard]] api::GpuView view(core::GpuId id) const;
  [[nodiscard]] std::vector<api::ProfileView> profiles() const;

  boost::asio::io_context& loop_;
  Engine& engine_;
  Hardware& hardware_;
  Supervisor& supervisor_;
  Cgroups cgroups_;
  bool emulated_;
  api::WallTime since_ = Clock::wall();
  std::map<std::uint64_t, std::vector<std::weak_ptr<Waiter>>> waiters_;
};

}  // namespace tangram::daemon
