// See leases.hpp: leases asked for.
#include "daemon/leases.hpp"

#include <algorithm>

#include <boost/asio/post.hpp>
#include <boost/json/serialize.hpp>

#include "base/text.hpp"
#include "daemon/cgroup_processes.hpp"
#include "daemon/choose_profile.hpp"
#include "daemon/leases_timing.hpp"
#include "daemon/leases_visit.hpp"
#include "daemon/limits.hpp"
#include "daemon/problems.hpp"
#include "daemon/users.hpp"

namespace tangram::daemon {
namespace {

// Room is there at once or not; the instance takes the driver a moment, also of those who do not
// wait for room.
constexpr std::chrono::seconds kMakingTime{10};

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
      timing_(std::make_unique<Timing>(loop)) {
  // Rung after every batch; only that trouble begins or ends matters.
  ring_ = engine_.when_lasting([this] {
    if (engine_.store_trouble().empty() != in_trouble_) return;
    boost::asio::post(loop_, [this, alive = alive_] {
      if (*alive) sweep();
    });
  });
}

Leases::~Leases() { *alive_ = false; }

void Leases::fill(http::Doors& doors) {
  doors.acquire = [this](const Caller& caller, const api::LeaseRequest& request,
                         const Acquired& reply) { return acquire(caller, request, reply); };
  doors.leases = [this](const Caller& caller, const http::LeaseFilter& filter) {
    return leases(caller, filter);
  };
  doors.lease = [this](const Caller& caller, std::uint64_t id) { return lease(caller, id); };
  doors.leases_by_key = [this](const Caller& caller, const std::string& key,
                               std::optional<std::uint32_t> uid) {
    return leases_by_key(caller, key, uid.value_or(caller.uid));
  };
  doors.renew = [this](const Caller& caller, std::uint64_t id,
                       std::optional<std::chrono::milliseconds> ttl,
                       const Reply& reply) { renew(caller, id, ttl, reply); };
  doors.release_lease = [this](const Caller& caller, std::uint64_t id, const Parted& reply) {
    release(caller, id, reply);
  };
  doors.release_by_key = [this](const Caller& caller, const std::string& key,
                                std::optional<std::uint32_t> uid,
                                const http::Reply<std::optional<Released>>& reply) {
    release_by_key(caller, {.taker = caller.uid, .uid = uid.value_or(caller.uid), .key = key},
                   reply);
  };
}

std::shared_ptr<void> Leases::acquire(const Caller& caller, const api::LeaseRequest& request,
                                      const Acquired& reply) {
  auto visit = std::make_shared<Visit>(*this, caller, reply);
  const std::uint64_t known = engine_.records().last_job();
  const auto id = find_or_ask(caller, request);
  if (!id) {
    boost::asio::post(loop_,
                      [visit, problem = id.error()] { visit->tell(std::unexpected(problem)); });
    return visit;
  }
  visit->lease = *id;
  visit->again = *id <= known;
  const store::JobRow* row = engine_.records().job(*id);
  if (row != nullptr && row->state == api::name_of(api::JobState::kRunning)) {
    // Whoever asks again is alive: as good as a renewal.
    boost::asio::post(loop_, [this, alive = alive_, visit, ttl = request.ttl] {
      if (!*alive) return;
      renew(visit->caller, *visit->lease, ttl,
            [visit](Answer<api::LeaseView> answer) { visit->tell(std::move(answer)); });
    });
    return visit;
  }
  const Micros now = Clock::since_boot();
  visit->until = now + request.wait;
  visit->until_made = now + std::max<Micros>(request.wait, kMakingTime);
  visits_[*id].push_back(visit);
  if (visit->again) {
    take_over(*id, request);
    boost::asio::post(loop_, [this, alive = alive_] {  // his time runs also if the disk hangs
      if (*alive) sweep();
    });
  }
  return visit;
}

// What whoever asks again says anew; he may be less patient than those before him.
void Leases::take_over(std::uint64_t id, const api::LeaseRequest& request) {
  engine_.post(Input{
      .event = core::WakeUp{},
      .note =
          [id, ttl = request.ttl, linger = request.linger, wait = request.wait](Records& records) {
            store::LeaseRow* mine = records.edit_lease(id);
            if (mine == nullptr) return;
            if (ttl) mine->ttl = *ttl;
            if (linger) mine->linger = *linger;
            if (wait.count() == 0) return;
            mine->wait_until =
                std::max(mine->wait_until, Clock::since_boot() + wait + mine->linger);
          },
      .done =
          [this, alive = alive_](const Result<void>& /*a fact*/) {
            if (*alive) sweep();
          }});
}

// What ends only when somebody says so, and what looks at any processes, is for admins.
http::Answer<void> Leases::admit_privileges(const Caller& caller,
                                            const api::LeaseRequest& request) const {
  if (request.ttl == api::kNoEnd) {
    const auto may = access_.require_admin(caller, "take leases without an end");
    if (!may) return may;
  }
  if (request.cgroup.empty()) return {};
  if (!request.cgroup.starts_with(cat(cgroup_root(), "/"))) {
    return std::unexpected(unserved(
        cat("cgroup must be a folder below ", cgroup_root(), ", not ", request.cgroup, ".")));
  }
  return access_.require_admin(caller, "name the control group of a lease");
}

http::Answer<std::uint64_t> Leases::find_or_ask(const Caller& caller,
                                                const api::LeaseRequest& request) {
  if (auto may = access_.admit_submission(caller); !may) return std::unexpected(may.error());
  const std::uint32_t uid = request.uid.value_or(caller.uid);
  if (uid != caller.uid) {
    if (auto may = access_.require_admin(caller, "take leases for others"); !may) {
      return std::unexpected(may.error());
    }
  }
  if (auto may = admit_privileges(caller, request); !may) return std::unexpected(may.error());
  const auto profile =
      choose_profile(engine_.scheduler().node(), request.profile, request.gpu_memory_mib);
  if (!profile) return std::unexpected(profile.error());
  const Name name{.taker = caller.uid, .uid = uid, .key = request.key};
  if (const auto open = find_name(name)) {
    const store::JobRow* row = engine_.records().job(*open);
    if (row == nullptr || row->profile == *profile) return *open;
    return std::unexpected(
        conflict(cat("lease ", *open, " with the key ", tangram::quoted(request.key),
                     " is open and has the profile ", row->profile, ", not ", *profile,
                     ". Release it first, or use another key.")));
  }
  const auto admission = limits_.admit(caller, uid, *profile);
  if (!admission) return std::unexpected(admission.error());
  store::JobRow row;
  row.id = engine_.next_job();
  row.uid = uid;
  row.user = user_name(uid);
  row.kind = "lease";
  row.request = boost::json::serialize(api::to_json(request));
  row.name = !request.name.empty() ? request.name : !request.key.empty() ? request.key : "lease";
  row.profile = *profile;
  row.labels = api::labels_text(request.labels);
  row.state = api::name_of(api::JobState::kQueued);
  row.submitted = Clock::wall();
  ask(request, row, name, admission->over_limit);
  return row.id;
}

// One that is being released is its holder's no more.
bool Leases::is_open(std::uint64_t id) const {
  const store::JobRow* row = engine_.records().job(id);
  return row != nullptr && !row->over && !ending_.contains(id) &&
         row->state != api::name_of(api::JobState::kStopping);
}

std::optional<std::uint64_t> Leases::find_name(const Name& name) const {
  if (name.key.empty()) return std::nullopt;
  const auto at = asked_now_.find(name);
  if (at != asked_now_.end() && !ending_.contains(at->second)) return at->second;
  for (const auto& [id, lease] : engine_.records().leases()) {
    if (lease.key != name.key || lease.taker != name.taker || !is_open(id)) continue;
    if (engine_.records().job(id)->uid == name.uid) return id;
  }
  return std::nullopt;
}

void Leases::ask(const api::LeaseRequest& request, const store::JobRow& row, const Name& name,
                 bool over_limit) {
  store::LeaseRow lease{.job = row.id,
                        .taker = name.taker,
                        .key = request.key,
                        .ttl = request.ttl.value_or(api::kLeaseTtl),
                        .wait_until = Clock::since_boot() + request.wait};
  if (!request.key.empty()) lease.linger = request.linger.value_or(linger_);
  // Who does not wait at all has no place to keep.
  if (request.wait.count() > 0) lease.wait_until += lease.linger;
  core::JobSpec spec;
  spec.id = core::JobId(row.id);
  spec.profile = row.profile;
  spec.kind = core::JobKind::kLease;
  spec.movable = false;
  spec.restart = core::Restart::kNever;
  spec.over_limit = over_limit;
  limits_.coming(row.id, row.uid, row.profile, over_limit);
  if (!name.key.empty()) asked_now_[name] = row.id;
  engine_.post(Input{.event = core::JobSubmitted{spec},
                     .note =
                         [row, lease](Records& records) {
                           records.put(row);
                           records.put(lease);
                         },
                     .done =
                         [this, alive = alive_, id = row.id, name](const Result<void>& result) {
                           if (!*alive) return;
                           const auto asked = asked_now_.find(name);
                           if (asked != asked_now_.end() && asked->second == id) {
                             asked_now_.erase(asked);
                           }
                           if (result) return;
                           limits_.not_coming(id);
                           // Perhaps within the call that asks: whoever asked is not noted yet.
                           boost::asio::post(loop_,
                                             [this, alive, id, why = result.error().message] {
                                               if (*alive) answer(id, unavailable(why));
                                             });
                         },
                     .wish = true});
}

api::Problem Leases::why_over(const store::JobRow& row) const {
  if (const auto at = refused_.find(row.id); at != refused_.end()) return at->second;
  return lease_over(
      cat("lease ", row.id, " is over", row.reason.empty() ? "" : ": ", row.reason, "."));
}

void Leases::changed(const std::vector<std::uint64_t>& jobs) {
  bool any = false;
  for (const std::uint64_t id : jobs) {
    const store::JobRow* row = engine_.records().job(id);
    if (row == nullptr || row->kind != "lease") continue;
    any = true;
    if (row->over) {
      answer(id, why_over(*row));
      end_run(*row);
      ending_.erase(id);
      refused_.erase(id);
      unwritten_.erase(id);
    } else if (row->state == api::name_of(api::JobState::kRunning)) {
      answer(id, std::nullopt);
    }
  }
  if (any) sweep();
}

}  // namespace tangram::daemon
