// Leases: instances for processes that other programs start. To the scheduler a lease is a job: it
// starts when its instance is handed out and has ended when no process is left in the instance.
// Leases handles the API calls of lease holders and the deadlines. A granted lease ends when its
// TTL passes without a renewal, but not while the store cannot be written and renewals fail for
// that reason. An instance is reused only when the driver lists no process in it. All functions run
// on the event loop.
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
#include "daemon/access/access.hpp"
#include "daemon/engine/engine.hpp"
#include "daemon/views/views.hpp"
#include "http/routes/api_handlers.hpp"

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

  void register_handlers(http::ApiHandlers& handlers);
  // Sets the default of LeaseRequest::linger: how long a waiting lease with a key keeps its place
  // in the queue while no client waits for it.
  void set_linger(std::chrono::milliseconds linger) { linger_ = linger; }

  // Recovers the leases of an earlier daemon: extends the deadlines of granted and waiting leases
  // (kRecoveryGrace) and ends waiting leases without a key, whose clients are gone. `rebooted`:
  // ends all leases.
  void recover(bool rebooted);
  // Whether the job is a lease.
  [[nodiscard]] bool owns(core::JobId job) const;
  // Grants the lease: its instance exists.
  void start(const core::StartJob& action);
  // Waits until the instance is empty, then posts JobExited.
  void stop(const core::StopJob& action);
  // Called after a batch changed the records of `jobs`; answers their waiting clients.
  void on_jobs_changed(const std::vector<std::uint64_t>& jobs);

 private:
  using Caller = http::Caller;
  template <class T>
  using Answer = http::Answer<T>;
  using Reply = http::Reply<api::LeaseView>;
  using AcquireReply = http::Reply<http::ApiHandlers::Acquired>;
  using Released = http::ApiHandlers::Released;
  using ReleaseReply = http::Reply<Released>;
  using Micros = std::chrono::microseconds;
  struct Waiter;          // a client that waits for a lease
  struct PendingRelease;  // a release whose reply has not been sent
  struct Timers;
  // A renewal that the store could not take. It counts, and is written when the store recovers.
  struct UnsavedRenewal {
    Micros at{0};
    std::optional<std::chrono::milliseconds> ttl = {};  // the new TTL, if one was requested
  };
  // A key is unique per taker and owner. `taker`: the uid that requested the lease. `uid`: its
  // owner.
  struct ScopedKey {
    std::uint32_t taker = 0;
    std::uint32_t uid = 0;
    std::string key;
    friend auto operator<=>(const ScopedKey&, const ScopedKey&) = default;
  };

  // leases.cpp: requests for leases
  std::shared_ptr<void> acquire(const Caller& caller, const api::LeaseRequest& request,
                                const AcquireReply& reply);
  [[nodiscard]] Answer<std::uint64_t> find_or_submit(const Caller& caller,
                                                     const api::LeaseRequest& request);
  [[nodiscard]] Answer<void> admit_privileges(const Caller& caller,
                                              const api::LeaseRequest& request) const;
  [[nodiscard]] bool is_open(std::uint64_t id) const;
  [[nodiscard]] std::optional<std::uint64_t> find_by_key(const ScopedKey& name) const;
  void submit(const api::LeaseRequest& request, const store::JobRow& row, const ScopedKey& name,
              bool over_limit);
  void update_request(std::uint64_t id, const api::LeaseRequest& request);
  [[nodiscard]] api::Problem ended_problem(const store::JobRow& row) const;

  // leases_waiters.cpp: clients that wait
  void on_waiter_gone(std::uint64_t id);
  void on_no_waiters(std::uint64_t id);
  void hold_place_for(std::uint64_t id);
  [[nodiscard]] bool is_waiting(std::uint64_t id) const;
  void expire_waiters(Micros now, std::optional<Micros>& next);
  [[nodiscard]] std::vector<std::shared_ptr<Waiter>> take_expired(std::uint64_t id, Micros now,
                                                                  std::optional<Micros>& next);
  [[nodiscard]] std::optional<api::Problem> timeout_problem(
      const store::JobRow& row, std::optional<Views::Queue>& queue) const;
  void reject(std::uint64_t id, const api::Problem& problem);
  void reply_to_waiters(std::uint64_t id, const std::optional<api::Problem>& problem);

  // leases_views.cpp: shown to clients
  [[nodiscard]] Answer<api::LeaseView> get_lease(const Caller& caller, std::uint64_t id);
  [[nodiscard]] Answer<std::vector<api::LeaseView>> list_leases(const Caller& caller,
                                                                const http::LeaseFilter& filter);
  [[nodiscard]] Answer<std::vector<api::LeaseView>> list_by_key(const Caller& caller,
                                                                const std::string& key,
                                                                std::uint32_t uid);
  [[nodiscard]] Answer<store::JobRow> find_row(const Caller& caller, std::uint64_t id);
  // find_row(), if the caller may change the lease. `action`: for the error message.
  [[nodiscard]] Answer<store::JobRow> find_owned(const Caller& caller, std::uint64_t id,
                                                 std::string_view action);
  [[nodiscard]] api::LeaseView make_view(const Caller& caller, const store::JobRow& row,
                                         const store::LeaseRow& known,
                                         const Views::Queue& queue) const;
  [[nodiscard]] api::LeaseState state_of(const store::JobRow& row) const;
  [[nodiscard]] std::string reason_of(const store::JobRow& row, api::LeaseState state,
                                      const Views::Queue& queue) const;
  void set_location(const store::JobRow& row, api::LeaseView& view) const;

  // leases_ttl.cpp: renewed, and ended at their deadline
  void renew(const Caller& caller, std::uint64_t id, std::optional<std::chrono::milliseconds> ttl,
             const Reply& reply);
  [[nodiscard]] Answer<void> admit_unlimited_ttl(const Caller& caller, std::uint64_t id) const;
  void renew_unsaved(std::uint64_t id, std::optional<std::chrono::milliseconds> ttl,
                     const std::string& error, const Reply& reply);
  [[nodiscard]] static std::optional<Micros> deadline_of(const store::LeaseRow& lease,
                                                         Micros at = Clock::since_boot());
  [[nodiscard]] store::LeaseRow with_unsaved_renewal(store::LeaseRow lease) const;
  void on_store_state();
  void extend_deadlines();
  void write_extended_deadlines(JobTable& records) const;
  void sweep();
  void end_expired(Micros now, std::optional<Micros>& next);
  [[nodiscard]] std::optional<Micros> due_time(std::uint64_t id,
                                               const store::LeaseRow& lease) const;
  void end(std::uint64_t id, const std::string& reason);

  // leases_release.cpp: released
  void release(const Caller& caller, std::uint64_t id, const ReleaseReply& reply);
  void release_by_key(const Caller& caller, const ScopedKey& name,
                      const http::Reply<std::optional<Released>>& reply);
  void reply_released(const PendingRelease& pending, bool is_deferred);
  void acknowledge_releases();

  // leases_instance.cpp: the instance is handed out and taken back
  void recover(const core::Job& job, bool rebooted);
  void keep_waiting(std::uint64_t id);
  void extend_granted(std::uint64_t id);
  [[nodiscard]] std::string cgroup_of(std::uint64_t id);
  void check_vacated(core::JobId job, core::RunId run);
  void on_occupied(core::JobId job, core::RunId run, const std::string& why);
  void on_vacated(core::JobId job, core::RunId run, core::GpuId gpu);
  void end_run(const store::JobRow& row);

  boost::asio::io_context& loop_;
  Engine& engine_;
  Hardware& hardware_;
  const Views& views_;
  const Access& access_;
  Limits& limits_;
  std::chrono::milliseconds linger_;
  std::map<std::uint64_t, std::vector<std::weak_ptr<Waiter>>> waiters_;  // by lease
  std::map<ScopedKey, std::uint64_t> uncommitted_keys_;        // of leases not committed yet
  std::map<std::uint64_t, std::uint32_t> renewals_in_flight_;  // by lease: how many
  std::set<std::uint64_t> recovering_;                         // deadline being extended
  std::set<std::uint64_t> ending_;                             // end posted, not committed yet
  std::map<std::uint64_t, api::Problem> rejections_;           // by lease: reply to its clients
  std::map<std::uint64_t, UnsavedRenewal> unsaved_renewals_;   // by lease
  std::vector<std::shared_ptr<PendingRelease>> pending_releases_;
  bool is_store_failing_ = false;  // as of the last on_store_state()
  int extensions_in_flight_ = 0;   // posted by extend_deadlines(), not committed yet
  std::unique_ptr<Timers> timers_;
  std::shared_ptr<void> durable_callback_;  // keeps the engine's callback registered
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace tangram::daemon
