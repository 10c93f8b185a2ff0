// Leases: instances for processes that others start. To the scheduler a lease is a job that is
// started by handing its instance out, and that has ended when nobody is left in the instance; here
// are its owner's side and its time. One rule: a lease ends by its own clock, whoever forgot it,
// and an instance is given on only when the driver lists no process in it.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/lease.hpp"
#include "core/action.hpp"
#include "core/job.hpp"
#include "daemon/access.hpp"
#include "daemon/engine.hpp"
#include "daemon/views.hpp"
#include "http/doors.hpp"

namespace boost::asio {
class io_context;
}

namespace tangram::daemon {

class Hardware;
class Limits;

class Leases {
 public:
  Leases(boost::asio::io_context& loop, Engine& engine, Hardware& hardware, const Views& views,
         const Access& access, Limits& limits, std::chrono::milliseconds linger);
  ~Leases();
  Leases(const Leases&) = delete;
  Leases& operator=(const Leases&) = delete;
  Leases(Leases&&) = delete;
  Leases& operator=(Leases&&) = delete;

  void fill(http::Doors& doors);
  // How long one with a key that waits keeps its place without an asker, unless it says so itself.
  void set_linger(std::chrono::milliseconds linger) { linger_ = linger; }

  // Those of an earlier daemon: granted ones stay, for a few seconds at least. Of those that wait,
  // the askers have left with it. With `rebooted`, all are over.
  void adopt(bool rebooted);
  [[nodiscard]] bool owns(core::JobId job) const;
  void start(const core::StartJob& wanted);
  void stop(const core::StopJob& wanted);
  // Jobs whose records changed.
  void changed(const std::vector<std::uint64_t>& jobs);

 private:
  using Caller = http::Caller;
  template <class T>
  using Answer = http::Answer<T>;
  using Reply = http::Reply<api::LeaseView>;
  using Acquired = http::Reply<http::Doors::Acquired>;
  using Micros = std::chrono::microseconds;
  struct Visit;  // of one who waits for a lease
  struct Timing;
  // What a key is unique within: who took it, whose it is.
  struct Name {
    std::uint32_t taker = 0;
    std::uint32_t uid = 0;
    std::string key;
    friend auto operator<=>(const Name&, const Name&) = default;
  };

  // leases.cpp: asked for
  std::shared_ptr<void> acquire(const Caller& caller, const api::LeaseRequest& request,
                                const Acquired& reply);
  [[nodiscard]] Answer<std::uint64_t> find_or_ask(const Caller& caller,
                                                  const api::LeaseRequest& request);
  [[nodiscard]] bool is_open(std::uint64_t id) const;
  [[nodiscard]] std::optional<std::uint64_t> find_name(const Name& name) const;
  void ask(const api::LeaseRequest& request, const store::JobRow& row, const Name& name,
           bool over_limit);
  void take_over(std::uint64_t id, const api::LeaseRequest& request);
  void left(std::uint64_t id);
  void linger(std::uint64_t id);
  [[nodiscard]] bool waits(std::uint64_t id) const;
  void tell_impatient(Micros now, std::optional<Micros>& next);
  [[nodiscard]] std::vector<std::shared_ptr<Visit>> take_impatient(std::uint64_t id, Micros now,
                                                                   std::optional<Micros>& next);
  void answer(std::uint64_t id, const std::optional<api::Problem>& problem);
  [[nodiscard]] api::Problem why_over(const store::JobRow& row) const;

  // leases_views.cpp: looked at
  [[nodiscard]] Answer<api::LeaseView> lease(const Caller& caller, std::uint64_t id);
  [[nodiscard]] Answer<std::vector<api::LeaseView>> leases(const Caller& caller);
  [[nodiscard]] Answer<std::vector<api::LeaseView>> leases_by_key(const Caller& caller,
                                                                  const std::string& key,
                                                                  std::uint32_t uid);
  [[nodiscard]] Answer<store::JobRow> find(const Caller& caller, std::uint64_t id);
  // The same, if he may change it.
  [[nodiscard]] Answer<store::JobRow> find_taken(const Caller& caller, std::uint64_t id,
                                                 std::string_view deed);
  [[nodiscard]] api::LeaseView view(const Caller& caller, const store::JobRow& row,
                                    const store::LeaseRow& lease) const;

  // leases_time.cpp: kept and ended
  void renew(const Caller& caller, std::uint64_t id, std::optional<std::chrono::milliseconds> ttl,
             const Reply& reply);
  void release(const Caller& caller, std::uint64_t id, const Reply& reply);
  void release_by_key(const Caller& caller, const Name& name,
                      const http::Reply<std::optional<api::LeaseView>>& reply);
  void sweep();
  [[nodiscard]] std::optional<Micros> due(std::uint64_t id, const store::LeaseRow& lease) const;
  void end(std::uint64_t id, const std::string& reason);

  // leases_instance.cpp: the instance handed out and taken back
  void adopt(const core::Job& job, bool rebooted);
  void keep_place(std::uint64_t id);
  void vacate(core::JobId job, core::RunId run);
  void occupied(core::JobId job, core::RunId run, const std::vector<unsigned>& pids);
  void vacated(core::JobId job, core::RunId run, core::GpuId gpu);
  void end_run(const store::JobRow& row);

  boost::asio::io_context& loop_;
  Engine& engine_;
  Hardware& hardware_;
  const Views& views_;
  const Access& access_;
  Limits& limits_;
  std::chrono::milliseconds linger_;
  std::map<std::uint64_t, std::vector<std::weak_ptr<Visit>>> visits_;  // by lease
  std::map<Name, std::uint64_t> asked_now_;                            // not on the disk yet
  std::map<std::uint64_t, std::uint32_t> renewing_;  // how often, not committed yet
  std::set<std::uint64_t> coming_back_;              // their askers are given time to
  std::set<std::uint64_t> ending_;                   // their end is on its way
  std::set<std::uint64_t> no_room_;                  // of these, because none came free in time
  std::unique_ptr<Timing> timing_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace tangram::daemon
