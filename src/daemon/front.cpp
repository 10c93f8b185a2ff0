// See front.hpp.
#include "daemon/front.hpp"

#include <chrono>
#include <set>
#include <utility>

#include <boost/asio/steady_timer.hpp>

#include "daemon/access.hpp"
#include "daemon/audit.hpp"
#include "daemon/engine.hpp"
#include "daemon/explainer.hpp"
#include "daemon/feed.hpp"
#include "daemon/leases.hpp"
#include "daemon/limits.hpp"
#include "daemon/metrics.hpp"
#include "daemon/operator.hpp"
#include "daemon/past.hpp"
#include "daemon/planner.hpp"
#include "daemon/reader.hpp"
#include "daemon/reception.hpp"
#include "daemon/tokens.hpp"
#include "daemon/users.hpp"
#include "daemon/views.hpp"

namespace tangram::daemon {
namespace {

// Looks again and again whether the user is known by now, as long as somebody wants to know.
void when_settled(boost::asio::io_context& loop, std::uint32_t uid, const std::weak_ptr<void>& who,
                  const std::function<void()>& then) {
  if (is_user_settled(uid)) return then();
  constexpr auto kLookAgain = std::chrono::milliseconds(10);
  const auto timer = std::make_shared<boost::asio::steady_timer>(loop, kLookAgain);
  timer->async_wait([&loop, uid, who, then, timer](const boost::system::error_code& stopped) {
    if (!stopped && !who.expired()) when_settled(loop, uid, who, then);
  });
}

constexpr auto kTryAgain = std::chrono::seconds(30);  // what could not be looked up

}  // namespace

struct Front::Parts {
  Parts(boost::asio::io_context& the_loop, Engine& the_engine, Hardware& hardware,
        Supervisor& supervisor, const Endpoints& endpoints, const Cgroups& cgroups,
        const Config& config, std::unique_ptr<Audit> the_audit)
      : loop(the_loop),
        engine(the_engine),
        access(config.admins),
        views(engine, hardware, supervisor, !config.emulate.empty()),
        limits(engine, access, config.limits),
        reader(loop, engine.store().path()),
        reception(loop, engine, hardware, supervisor, reader, views, access, limits, cgroups),
        desk(engine, views, access),
        explainer(engine, reader, access, limits),
        planner(engine, reader, access),
        past(engine, reader, views, access),
        leases(loop, engine, hardware, views, access, limits, config.linger),
        feed(engine, reader, access),
        tokens(engine, access),
        metrics(loop, engine, hardware, endpoints, views, access),
        audit(std::move(the_audit)) {
    access.set_submitters(config.only_admins_submit);
    engine.measure(metrics.measures());
    engine.tell([this](const std::vector<store::EventRow>& events) { feed.publish(events); });
    keep_users([this] { return users_who_matter(); });
    try_again();
  }
  ~Parts() { keep_users(nullptr); }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;
  Parts(Parts&&) = delete;
  Parts& operator=(Parts&&) = delete;

  [[nodiscard]] std::set<std::uint32_t> users_who_matter() const {
    std::set<std::uint32_t> uids = tokens.users();
    for (const auto& [id, row] : engine.records().jobs()) {
      if (!row.over) uids.insert(row.uid);
    }
    for (const auto& [id, lease] : engine.records().leases()) uids.insert(lease.taker);
    return uids;
  }
  void try_again() {
    later.expires_after(kTryAgain);
    later.async_wait([this](const boost::system::error_code& stopped) {
      if (stopped) return;
      access.try_again();
      try_again();
    });
  }

  boost::asio::io_context& loop;
  Engine& engine;
  Access access;
  Views views;
  Limits limits;
  Reader reader;
  Reception reception;
  Operator desk;
  Explainer explainer;
  Planner planner;
  Past past;
  Leases leases;
  Feed feed;
  Tokens tokens;
  Metrics metrics;
  std::unique_ptr<Audit> audit;
  boost::asio::steady_timer later{loop};
  std::shared_ptr<void> alive = std::make_shared<int>(0);
};

Front::Front(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Front::~Front() = default;

Result<std::unique_ptr<Front>> Front::open(boost::asio::io_context& loop, Engine& engine,
                                           Hardware& hardware, Supervisor& supervisor,
                                           const Endpoints& endpoints, const Cgroups& cgroups,
                                           const Config& config) {
  auto audit = Audit::open(config.audit.empty() ? config.state_dir + "/audit.log" : config.audit);
  if (!audit) return std::unexpected(audit.error());
  auto parts = std::make_unique<Parts>(loop, engine, hardware, supervisor, endpoints, cgroups,
                                       config, *std::move(audit));
  if (auto loaded = parts->tokens.load(); !loaded) return std::unexpected(loaded.error());
  return std::unique_ptr<Front>(new Front(std::move(parts)));
}

http::Doors Front::doors() {
  http::Doors doors = parts_->reception.doors();
  parts_->desk.fill(doors);
  parts_->explainer.fill(doors);
  parts_->planner.fill(doors);
  parts_->past.fill(doors);
  parts_->leases.fill(doors);
  parts_->feed.fill(doors);
  parts_->tokens.fill(doors);
  parts_->metrics.fill(doors);
  parts_->audit->fill(doors);
  doors.is_settled = [](const http::Caller& caller) { return is_user_settled(caller.uid); };
  doors.is_lasting = [&engine = parts_->engine](std::optional<std::uint64_t> job) {
    return engine.is_lasting(job);
  };
  doors.when_lasting = [&engine = parts_->engine](std::function<void()> ring) {
    return engine.when_lasting(std::move(ring));
  };
  // A token for somebody else has his name in it. Whom the caller may not name is not looked up.
  doors.create_token = [&parts = *parts_, create = std::move(doors.create_token)](
                           const http::Caller& caller, const api::TokenRequest& request,
                           const http::Reply<api::TokenView>& reply) {
    const bool may = Access::is_master(caller);
    when_settled(parts.loop, may ? request.uid.value_or(caller.uid) : caller.uid, parts.alive,
                 [=] { create(caller, request, reply); });
  };
  // So has a lease; its asker may leave while he is looked up.
  doors.acquire = [&parts = *parts_, acquire = std::move(doors.acquire)](
                      const http::Caller& caller, const api::LeaseRequest& request,
                      const http::Reply<http::Doors::Acquired>& reply) -> std::shared_ptr<void> {
    const auto visit = std::make_shared<std::shared_ptr<void>>();
    const bool may = parts.access.is_admin(caller);
    when_settled(parts.loop, may ? request.uid.value_or(caller.uid) : caller.uid, visit,
                 [=, weak = std::weak_ptr(visit)] {
                   if (const auto here = weak.lock()) *here = acquire(caller, request, reply);
                 });
    return visit;
  };
  return doors;
}

void Front::changed(const std::vector<std::uint64_t>& jobs) {
  parts_->reception.changed(jobs);
  parts_->limits.changed(jobs);
  parts_->leases.changed(jobs);
}

Leases& Front::leases() { return parts_->leases; }

void Front::reload(const Config& config) {
  parts_->access.set_group(config.admins);
  parts_->access.set_submitters(config.only_admins_submit);
  parts_->limits.set(config.limits);
  parts_->leases.set_linger(config.linger);
}

}  // namespace tangram::daemon
