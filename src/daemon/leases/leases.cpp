// See leases.hpp: requests for leases.
#include "daemon/leases/leases.hpp"

#include <algorithm>

#include <boost/asio/post.hpp>
#include <boost/json/serialize.hpp>

#include "base/text.hpp"
#include "daemon/access/limits.hpp"
#include "daemon/access/problems.hpp"
#include "daemon/access/user_cache.hpp"
#include "daemon/leases/lease_timers.hpp"
#include "daemon/leases/lease_waiter.hpp"
#include "daemon/runs/cgroup_processes.hpp"
#include "daemon/views/choose_profile.hpp"

namespace tangram::daemon {
namespace {

// Minimum time for the driver to create the instance, also for clients that do not wait for a
// placement.
constexpr std::chrono::seconds kCreateTimeout{10};

}  // namespace

Leases::Leases(boost::asio::io_context& loop, Engine& engine, Hardware& hardware,
               const Views& views, const Access& access, Limits& limits,
               std::chrono::milliseconds linger)
    : loop_(loop),
      engine_(engine),
      hardware_(hardware),
      views_(views),
      access_(access),
      limits_(limits),
      linger_(linger),
      timers_(std::make_unique<Timers>(loop)) {
  // Called after every batch; matters only when the store starts or stops failing.
  durable_callback_ = engine_.on_durable([this] {
    if (engine_.store_error().empty() != is_store_failing_) return;
    boost::asio::post(loop_, [this, alive = alive_] {
      if (*alive) sweep();
    });
  });
}

Leases::~Leases() { *alive_ = false; }

void Leases::register_handlers(http::ApiHandlers& handlers) {
  handlers.acquire = [this](const Caller& caller, const api::LeaseRequest& request,
                            const AcquireReply& reply) { return acquire(caller, request, reply); };
  handlers.leases = [this](const Caller& caller, const http::LeaseFilter& filter) {
    return list_leases(caller, filter);
  };
  handlers.lease = [this](const Caller& caller, std::uint64_t id) { return get_lease(caller, id); };
  handlers.leases_by_key = [this](const Caller& caller, const std::string& key,
                                  std::optional<std::uint32_t> uid) {
    return list_by_key(caller, key, uid.value_or(caller.uid));
  };
  handlers.renew = [this](const Caller& caller, std::uint64_t id,
                          std::optional<std::chrono::milliseconds> ttl,
                          const Reply& reply) { renew(caller, id, ttl, reply); };
  handlers.release_lease = [this](const Caller& caller, std::uint64_t id,
                                  const ReleaseReply& reply) { release(caller, id, reply); };
  handlers.release_by_key = [this](const Caller& caller, const std::string& key,
                                   std::optional<std::uint32_t> uid,
                                   const http::Reply<std::optional<Released>>& reply) {
    release_by_key(caller, {.taker = caller.uid, .uid = uid.value_or(caller.uid), .key = key},
                   reply);
  };
}

std::shared_ptr<void> Leases::acquire(const Caller& caller, const api::LeaseRequest& request,
                                      const AcquireReply& reply) {
  auto waiter = std::make_shared<Waiter>(*this, caller, reply);
  const std::uint64_t last_job = engine_.records().last_job();
  const auto id = find_or_submit(caller, request);
  if (!id) {
    boost::asio::post(
        loop_, [waiter, problem = id.error()] { waiter->respond(std::unexpected(problem)); });
    return waiter;
  }
  waiter->lease = *id;
  waiter->is_repeat = *id <= last_job;
  const store::JobRow* row = engine_.records().job(*id);
  if (row != nullptr && row->state == api::name_of(api::JobState::kRunning)) {
    // Repeating the request renews a granted lease.
    boost::asio::post(loop_, [this, alive = alive_, waiter, ttl = request.ttl] {
      if (!*alive) return;
      renew(waiter->caller, *waiter->lease, ttl,
            [waiter](Answer<api::LeaseView> answer) { waiter->respond(std::move(answer)); });
    });
    return waiter;
  }
  const Micros now = Clock::since_boot();
  waiter->wait_deadline = now + request.wait;
  waiter->create_deadline = now + std::max<Micros>(request.wait, kCreateTimeout);
  waiters_[*id].push_back(waiter);
  if (waiter->is_repeat) {
    update_request(*id, request);
    boost::asio::post(loop_, [this, alive = alive_] {  // arms its deadline even if the disk hangs
      if (*alive) sweep();
    });
  }
  return waiter;
}

// Applies the parameters of a repeated request. Its wait may be shorter than that of earlier ones.
void Leases::update_request(std::uint64_t id, const api::LeaseRequest& request) {
  engine_.post(Input{
      .event = core::WakeUp{},
      .edit_rows =
          [id, ttl = request.ttl, linger = request.linger, wait = request.wait](JobTable& records) {
            store::LeaseRow* lease = records.edit_lease(id);
            if (lease == nullptr) return;
            if (ttl) lease->ttl = *ttl;
            if (linger) lease->linger = *linger;
            if (wait.count() == 0) return;
            lease->wait_until =
                std::max(lease->wait_until, Clock::since_boot() + wait + lease->linger);
          },
      .done =
          [this, alive = alive_](const Result<void>& /*never refused*/) {
            if (*alive) sweep();
          }});
}

// Only admins may request a lease without an end, or one that watches a cgroup.
http::Answer<void> Leases::admit_privileges(const Caller& caller,
                                            const api::LeaseRequest& request) const {
  if (request.ttl == api::kNoEnd) {
    const auto may = access_.require_admin(caller, "take leases without an end");
    if (!may) return may;
  }
  if (request.cgroup.empty()) return {};
  if (!request.cgroup.starts_with(cat(cgroup_root(), "/"))) {
    return std::unexpected(unservable(
        cat("cgroup must be a folder below ", cgroup_root(), ", not ", request.cgroup, ".")));
  }
  return access_.require_admin(caller, "name the cgroup of a lease");
}

http::Answer<std::uint64_t> Leases::find_or_submit(const Caller& caller,
                                                   const api::LeaseRequest& request) {
  if (auto may = access_.admit_submission(caller); !may) return std::unexpected(may.error());
  const std::uint32_t uid = request.uid.value_or(caller.uid);
  if (uid != caller.uid) {
    if (auto may = access_.require_admin(caller, "take leases for others"); !may) {
      return std::unexpected(may.error());
    }
  }
  if (auto may = admit_privileges(caller, request); !may) return std::unexpected(may.error());
  if (auto may = limits_.check_ttl(caller, request.ttl); !may) return std::unexpected(may.error());
  const auto profile =
      choose_profile(engine_.scheduler().node(), request.profile, request.gpu_memory_mib);
  if (!profile) return std::unexpected(profile.error());
  const ScopedKey name{.taker = caller.uid, .uid = uid, .key = request.key};
  if (const auto open = find_by_key(name)) {
    const store::JobRow* row = engine_.records().job(*open);
    if (row == nullptr || row->profile == *profile) return *open;
    return std::unexpected(
        conflict(cat("lease ", *open, " with the key ", tangram::quoted(request.key),
                     " is open and has the profile ", row->profile, ", not ", *profile,
                     ". Release it first, or use another key.")));
  }
  store::JobRow row;
  row.uid = uid;
  row.user = user_name(uid);
  row.kind = "lease";
  row.request = boost::json::serialize(api::to_json(request));
  row.name = request.name.empty() ? request.key : request.name;
  if (row.name.empty()) row.name = "lease";
  row.profile = *profile;
  row.labels = api::labels_text(request.labels);
  row.state = api::name_of(api::JobState::kQueued);
  row.submitted = Clock::wall();
  const auto admission = limits_.admit(caller, row, {});
  if (!admission) return std::unexpected(admission.error());
  row.id = engine_.allocate_job_id();
  submit(request, row, name, admission->over_limit);
  return row.id;
}

// Whether the lease belongs to its holder: not ended and not being released.
bool Leases::is_open(std::uint64_t id) const {
  const store::JobRow* row = engine_.records().job(id);
  return row != nullptr && !row->over && !ending_.contains(id) &&
         row->state != api::name_of(api::JobState::kStopping);
}

std::optional<std::uint64_t> Leases::find_by_key(const ScopedKey& name) const {
  if (name.key.empty()) return std::nullopt;
  const auto at = uncommitted_keys_.find(name);
  if (at != uncommitted_keys_.end() && !ending_.contains(at->second)) return at->second;
  for (const auto& [id, lease] : engine_.records().leases()) {
    if (lease.key != name.key || lease.taker != name.taker || !is_open(id)) continue;
    if (engine_.records().job(id)->uid == name.uid) return id;
  }
  return std::nullopt;
}

void Leases::submit(const api::LeaseRequest& request, const store::JobRow& row,
                    const ScopedKey& name, bool over_limit) {
  store::LeaseRow lease{.job = row.id,
                        .taker = name.taker,
                        .key = request.key,
                        .ttl = request.ttl.value_or(api::kLeaseTtl),
                        .wait_until = Clock::since_boot() + request.wait};
  if (!request.key.empty()) lease.linger = request.linger.value_or(linger_);
  // A request that does not wait has no place in the queue to keep.
  if (request.wait.count() > 0) lease.wait_until += lease.linger;
  core::JobSpec spec;
  spec.id = core::JobId(row.id);
  spec.profile = row.profile;
  spec.kind = core::JobKind::kLease;
  spec.movable = false;
  spec.restart = core::Restart::kNever;
  spec.over_limit = over_limit;
  spec.user = row.uid;
  limits_.add_pending(row, {.held = over_limit}, row.request.size());
  if (!name.key.empty()) uncommitted_keys_[name] = row.id;
  engine_.post(Input{.event = core::JobSubmitted{spec},
                     .edit_rows =
                         [row, lease](JobTable& records) {
                           records.put(row);
                           records.put(lease);
                         },
                     .done =
                         [this, alive = alive_, id = row.id, name](const Result<void>& result) {
                           if (!*alive) return;
                           const auto entry = uncommitted_keys_.find(name);
                           if (entry != uncommitted_keys_.end() && entry->second == id) {
                             uncommitted_keys_.erase(entry);
                           }
                           if (result) return;
                           limits_.remove_pending(id);
                           // Posted: this may run before the waiter is in waiters_.
                           boost::asio::post(loop_,
                                             [this, alive, id, why = result.error().message] {
                                               if (*alive) reply_to_waiters(id, unavailable(why));
                                             });
                         },
                     .may_be_refused = true});
}

api::Problem Leases::ended_problem(const store::JobRow& row) const {
  if (const auto at = rejections_.find(row.id); at != rejections_.end()) return at->second;
  return lease_ended(
      cat("lease ", row.id, " has ended", row.reason.empty() ? "" : ": ", row.reason, "."));
}

void Leases::on_jobs_changed(const std::vector<std::uint64_t>& jobs) {
  bool any = false;
  for (const std::uint64_t id : jobs) {
    const store::JobRow* row = engine_.records().job(id);
    if (row == nullptr || row->kind != "lease") continue;
    any = true;
    if (row->over) {
      reply_to_waiters(id, ended_problem(*row));
      end_run(*row);
      ending_.erase(id);
      rejections_.erase(id);
      unsaved_renewals_.erase(id);
    } else if (row->state == api::name_of(api::JobState::kRunning)) {
      reply_to_waiters(id, std::nullopt);
    }
  }
  if (any) sweep();
}

}  // namespace tangram::daemon
