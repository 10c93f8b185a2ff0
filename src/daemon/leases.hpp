// Leases: instances for processes that others start. To the scheduler a lease is a job that is
// started by handing its instance out, and that has ended when nobody is left in the instance; here
// are its owner's side and its time. One rule: a lease ends by its own clock, whoever forgot it,
// but not while nobody could renew it; and an instance is given on only when the driver lists no
// process in it.
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
  using Released = http::Doors::Released;
  using Parted = http::Reply<Released>;
  using Micros = std::chrono::microseconds;
  struct Visit;    // of one who waits for a lease
  struct Parting;  // of one who gives it back
  struct Timing;
  // A renewal that could not be written down.
  struct Unwritten {
    Micros at{0};
    std::optional<std::chrono::milliseconds> ttl = {};  // if it was to have a new one
  };
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
  [[nodiscard]] Answer<void> admit_privileges(const Caller& caller,
                                              const api::LeaseRequest& request) const;
  [[nodiscard]] bool is_open(std::uint64_t id) const;
  [[nodiscard]] std::optional<std::uint64_t> find_name(const Name& name) const;
  void ask(const api::LeaseRequest& request, const store::JobRow& row, const Name& name,
           bool over_limit);
  void take_over(std::uint64_t id, const api::LeaseRequest& request);
  [[nodiscard]] api::Problem why_over(const store::JobRow& row) const;

  // leases_askers.cpp: those who wait
  void left(std::uint64_t id);
  void leave_alone(std::uint64_t id);
  void linger(std::uint64_t id);
  [[nodiscard]] bool waits(std::uint64_t id) const;
  void tell_impatient(Micros now, std::optional<Micros>& next);
  [[nodiscard]] std::vector<std::shared_ptr<Visit>> take_impatient(std::uint64_t id, Micros now,
                                                                   std::optional<Micros>& next);
  [[nodiscard]] std::optional<api::Problem> why_not_yet(const store::JobRow& row,
                                                        std::optional<Views::Queue>& queue) const;
  void give_up(std::uint64_t id, const api::Problem& problem);
  void answer(std::uint64_t id, const std::optional<api::Problem>& problem);

  // leases_views.cpp: looked at
  [[nodiscard]] Answer<api::LeaseView> lease(const Caller& caller, std::uint64_t id);
  [[nodiscard]] Answer<std::vector<api::LeaseView>> leases(const Caller& caller,
                                                           const http::LeaseFilter& filter);
  [[nodiscard]] Answer<std::vector<api::LeaseView>> leases_by_key(const Caller& caller,
                                                                  const std::string& key,
                                                                  std::uint32_t uid);
  [[nodiscard]] Answer<store::JobRow> find(const Caller& caller, std::uint64_t id);
  // The same, if he may change it.
  [[nodiscard]] Answer<store::JobRow> find_taken(const Caller& caller, std::uint64_t id,
                                                 std::string_view deed);
  [[nodiscard]] api::LeaseView view(const Caller& caller, const store::JobRow& row,
                                    const store::LeaseRow& known, const Views::Queue& queue) const;
  [[nodiscard]] api::LeaseState state_of(const store::JobRow& row) const;
  [[nodiscard]] std::string reason_of(const store::JobRow& row, api::LeaseState state,
                                      const Views::Queue& queue) const;
  void show_place(const store::JobRow& row, api::LeaseView& view) const;

  // leases_time.cpp: kept, and ended by the clock
  void renew(const Caller& caller, std::uint64_t id, std::optional<std::chrono::milliseconds> ttl,
             const Reply& reply);
  [[nodiscard]] Answer<void> admit_endless(const Caller& caller, std::uint64_t id) const;
  void renew_unwritten(std::uint64_t id, std::optional<std::chrono::milliseconds> ttl,
                       const std::string& trouble, const Reply& reply);
  [[nodiscard]] static std::optional<Micros> deadline_of(const store::LeaseRow& lease,
                                                         Micros at = Clock::since_boot());
  [[nodiscard]] store::LeaseRow with_unwritten(store::LeaseRow lease) const;
  void mind_the_store();
  void give_grace();
  void write_grace(Records& records) const;
  void sweep();
  void end_overdue(Micros now, std::optional<Micros>& next);
  [[nodiscard]] std::optional<Micros> due(std::uint64_t id, const store::LeaseRow& lease) const;
  void end(std::uint64_t id, const std::string& reason);

  // leases_release.cpp: given back
  void release(const Caller& caller, std::uint64_t id, const Parted& reply);
  void release_by_key(const Caller& caller, const Name& name,
                      const http::Reply<std::optional<Released>>& reply);
  void tell_parted(const Parting& parting, bool noted);
  void tell_parted();

  // leases_instance.cpp: the instance handed out and taken back
  void adopt(const core::Job& job, bool rebooted);
  void keep_place(std::uint64_t id);
  void keep_granted(std::uint64_t id);
  [[nodiscard]] std::string cgroup_of(std::uint64_t id);
  void vacate(core::JobId job, core::RunId run);
  void occupied(core::JobId job, core::RunId run, const std::string& why);
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
  std::map<std::uint64_t, api::Problem> refused_;    // of these, what their askers are told
  std::map<std::uint64_t, Unwritten> unwritten_;     // by lease
  std::vector<std::shared_ptr<Parting>> parting_;
  bool in_trouble_ = false;  // the store, as last seen
  int graces_ = 0;           // on their way to the disk
  std::unique_ptr<Timing> timing_;
  std::shared_ptr<void> ring_;  // the engine's
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace tangram::daemon
