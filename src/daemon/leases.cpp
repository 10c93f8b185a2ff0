// See leases.hpp: leases asked for, and those who wait for them.
#include "daemon/leases.hpp"

#include <algorithm>

#include <boost/asio/post.hpp>
#include <boost/json/serialize.hpp>

#include "base/text.hpp"
#include "daemon/choose_profile.hpp"
#include "daemon/leases_timing.hpp"
#include "daemon/limits.hpp"
#include "daemon/problems.hpp"
#include "daemon/users.hpp"

namespace tangram::daemon {

struct Leases::Visit {
  Visit(Leases& of, Caller who, Acquired how)
      : leases(of), alive(of.alive_), caller(std::move(who)), reply(std::move(how)) {}
  ~Visit() {
    if (*alive && lease && !answered) leases.left(*lease);
  }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;
  Visit(Visit&&) = delete;
  Visit& operator=(Visit&&) = delete;

  void tell(Answer<api::LeaseView> what) {
    if (std::exchange(answered, true)) return;
    if (what) {
      reply(http::Doors::Acquired{.lease = *std::move(what), .again = again});
    } else {
      reply(std::unexpected(std::move(what.error())));
    }
  }

  Leases& leases;
  std::shared_ptr<bool> alive;
  Caller caller;
  Acquired reply;
  std::optional<std::uint64_t> lease;
  bool again = false;  // the lease was open when he came
  Micros until{0};     // he waits so long
  bool answered = false;
};

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
      timing_(std::make_unique<Timing>(loop)) {}

Leases::~Leases() { *alive_ = false; }

void Leases::fill(http::Doors& doors) {
  doors.acquire = [this](const Caller& caller, const api::LeaseRequest& request,
                         const Acquired& reply) { return acquire(caller, request, reply); };
  doors.leases = [this](const Caller& caller) { return leases(caller); };
  doors.lease = [this](const Caller& caller, std::uint64_t id) { return lease(caller, id); };
  doors.leases_by_key = [this](const Caller& caller, const std::string& key,
                               std::optional<std::uint32_t> uid) {
    return leases_by_key(caller, key, uid.value_or(caller.uid));
  };
  doors.renew = [this](const Caller& caller, std::uint64_t id,
                       std::optional<std::chrono::milliseconds> ttl,
                       const Reply& reply) { renew(caller, id, ttl, reply); };
  doors.release_lease = [this](const Caller& caller, std::uint64_t id, const Reply& reply) {
    release(caller, id, reply);
  };
  doors.release_by_key = [this](const Caller& caller, const std::string& key,
                                std::optional<std::uint32_t> uid,
                                const http::Reply<std::optional<api::LeaseView>>& reply) {
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
  visit->until = Clock::since_boot() + request.wait;
  visits_[*id].push_back(visit);
  if (visit->again) take_over(*id, request);
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

http::Answer<std::uint64_t> Leases::find_or_ask(const Caller& caller,
                                                const api::LeaseRequest& request) {
  if (auto may = access_.admit_submission(caller); !may) return std::unexpected(may.error());
  const std::uint32_t uid = request.uid.value_or(caller.uid);
  if (uid != caller.uid) {
    if (auto may = access_.require_admin(caller, "take leases for others"); !may) {
      return std::unexpected(may.error());
    }
  }
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
  if (!request.labels.empty()) {
    lease.labels = boost::json::serialize(api::to_json(request).at("labels"));
  }
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

// One who waited for it has hung up.
void Leases::left(std::uint64_t id) {
  const auto at = visits_.find(id);
  if (at == visits_.end()) return;
  std::erase_if(at->second, [](const auto& each) { return each.expired(); });
  if (!at->second.empty()) return;
  visits_.erase(at);
  const store::LeaseRow* lease = engine_.records().lease(id);
  if (lease == nullptr || lease->linger.count() == 0) {
    end(id, "whoever asked for it has left");
  } else {
    linger(id);
  }
}

// Nobody waits for it: it keeps its place for a while, and is granted if its turn comes.
void Leases::linger(std::uint64_t id) {
  engine_.post(Input{.event = core::WakeUp{},
                     .note =
                         [id](Records& records) {
                           store::LeaseRow* lease = records.edit_lease(id);
                           if (lease == nullptr) return;
                           const Micros until = Clock::since_boot() + lease->linger;
                           lease->wait_until = std::min(lease->wait_until, until);
                         },
                     .done =
                         [this, alive = alive_](const Result<void>& /*a fact*/) {
                           if (*alive) sweep();
                         }});
}

// For room: one that has a place is as good as granted.
bool Leases::waits(std::uint64_t id) const {
  const store::JobRow* row = engine_.records().job(id);
  if (row == nullptr || row->over || ending_.contains(id)) return false;
  const auto state = api::find_state(row->state);
  return state == api::JobState::kQueued || state == api::JobState::kHeld;
}

// Those whose patience has ended; when the next one's does.
std::vector<std::shared_ptr<Leases::Visit>> Leases::take_impatient(std::uint64_t id, Micros now,
                                                                   std::optional<Micros>& next) {
  std::vector<std::shared_ptr<Visit>> out;
  std::erase_if(visits_.at(id), [&](const std::weak_ptr<Visit>& each) {
    auto visit = each.lock();
    if (!visit) return false;  // on his way out; see left()
    if (visit->until > now) {
      next = std::min(next.value_or(visit->until), visit->until);
      return false;
    }
    out.push_back(std::move(visit));
    return true;
  });
  return out;
}

// There was no room in time for them; others may wait on for the same lease.
void Leases::tell_impatient(Micros now, std::optional<Micros>& next) {
  std::vector<std::uint64_t> ids;
  for (const auto& [id, visits] : visits_) {
    if (waits(id)) ids.push_back(id);
  }
  std::vector<std::pair<std::shared_ptr<Visit>, api::Problem>> answers;  // given when all is done
  for (const std::uint64_t id : ids) {
    const store::LeaseRow* lease = engine_.records().lease(id);
    if (lease == nullptr) continue;
    const auto told = take_impatient(id, now, next);
    if (told.empty()) continue;
    const std::string why =
        cat("no room came free in time: ", views_.why_waiting(*engine_.records().job(id), true));
    const bool last = visits_.at(id).empty();
    if (last && lease->linger.count() == 0) {  // first it is over, then they are told
      visits_.at(id).assign(told.begin(), told.end());
      no_room_.insert(id);
      end(id, why);
      continue;
    }
    if (last) {
      visits_.erase(id);
      linger(id);
    }
    for (const auto& visit : told) answers.emplace_back(visit, no_room(cat(why, ".")));
  }
  for (const auto& [visit, problem] : answers) visit->tell(std::unexpected(problem));
}

void Leases::answer(std::uint64_t id, const std::optional<api::Problem>& problem) {
  const auto at = visits_.find(id);
  if (at == visits_.end()) return;
  const auto waiting = std::move(at->second);
  visits_.erase(at);
  for (const auto& each : waiting) {
    const auto visit = each.lock();
    if (!visit) continue;
    if (problem) {
      visit->tell(std::unexpected(*problem));
    } else {
      visit->tell(lease(visit->caller, id));
    }
  }
}

api::Problem Leases::why_over(const store::JobRow& row) const {
  if (no_room_.contains(row.id)) return no_room(cat(row.reason, "."));
  return conflict(
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
      no_room_.erase(id);
    } else if (row->state == api::name_of(api::JobState::kRunning)) {
      answer(id, std::nullopt);
    }
  }
  if (any) sweep();
}

}  // namespace tangram::daemon
