// See api_service.hpp.
#include "daemon/service/api_service.hpp"

#include <chrono>
#include <set>
#include <utility>

#include <boost/asio/steady_timer.hpp>
#include <spdlog/spdlog.h>

#include "base/check.hpp"
#include "daemon/access/access.hpp"
#include "daemon/access/audit.hpp"
#include "daemon/access/limits.hpp"
#include "daemon/access/tokens.hpp"
#include "daemon/access/user_cache.hpp"
#include "daemon/engine/engine.hpp"
#include "daemon/explain/explain_service.hpp"
#include "daemon/hooks/hooks.hpp"
#include "daemon/leases/leases.hpp"
#include "daemon/runs/log_quota.hpp"
#include "daemon/runs/supervisor.hpp"
#include "daemon/service/array_service.hpp"
#include "daemon/service/defrag_service.hpp"
#include "daemon/service/dependencies.hpp"
#include "daemon/service/event_service.hpp"
#include "daemon/service/history_service.hpp"
#include "daemon/service/job_service.hpp"
#include "daemon/service/metrics.hpp"
#include "daemon/service/node_service.hpp"
#include "daemon/views/history_reader.hpp"
#include "daemon/views/views.hpp"

namespace tangram::daemon {
namespace {

// Calls `then` when the user is known, now or later, unless `owner` is gone by then.
void await_identity(boost::asio::io_context& loop, std::uint32_t uid,
                    const std::weak_ptr<void>& owner, const std::function<void()>& then) {
  if (user_identity_known(uid)) {
    then();
    return;
  }
  constexpr auto kPollInterval = std::chrono::milliseconds(10);
  const auto timer = std::make_shared<boost::asio::steady_timer>(loop, kPollInterval);
  timer->async_wait([&loop, uid, owner, then, timer](const boost::system::error_code& stopped) {
    if (!stopped && !owner.expired()) await_identity(loop, uid, owner, then);
  });
}

http::Caller local_caller(std::uint32_t uid) {
  http::Caller caller;
  caller.uid = uid;
  caller.gid = group_of(uid);
  return caller;
}

constexpr auto kLookupRetryInterval = std::chrono::seconds(30);

}  // namespace

struct ApiService::Parts {
  Parts(boost::asio::io_context& the_loop, Engine& the_engine, Hardware& hardware,
        Supervisor& supervisor, const Endpoints& endpoints, const Cgroups& cgroups,
        const Config& config, std::unique_ptr<Audit> the_audit)
      : loop(the_loop),
        engine(the_engine),
        access(config.admins),
        views(engine, hardware, supervisor, !config.emulate.empty()),
        limits(engine, access, config.limits),
        dependencies(engine, limits),
        arrays(engine, access, limits),
        log_quota(loop, config.limits.log_bytes,
                  [this](std::uint32_t uid) { return access.is_admin(local_caller(uid)); }),
        reader(loop, engine.store().path()),
        jobs(loop, engine, hardware, supervisor, reader, views, access, limits, dependencies,
             cgroups),
        node(engine, supervisor, views, access),
        explain(engine, reader, views, access, limits),
        defrag(engine, reader, access),
        history(engine, reader, views, access),
        leases(loop, engine, hardware, views, access, limits, config.linger),
        events(engine, reader, access),
        tokens(engine, access),
        metrics(loop, engine, hardware, endpoints, views, access),
        hooks(loop, engine, views, config.hooks,
              [this](std::string_view hook, std::string_view result) {
                metrics.count_hook(hook, result);
              }),
        audit(std::move(the_audit)) {
    access.restrict_submission(config.only_admins_submit);
    views.set_tuning_in_file(config.tuning_in_file);
    jobs.set_move_services(config.move_services);
    engine.set_hooks(metrics.engine_hooks());
    engine.set_on_events([this](const std::vector<store::EventRow>& rows) {
      events.publish(rows);
      hooks.on_events(rows);
    });
    pin_users([this] { return active_users(); });
    schedule_lookup_retry();
    count_logs(supervisor);
  }
  ~Parts() { pin_users(nullptr); }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;
  Parts(Parts&&) = delete;
  Parts& operator=(Parts&&) = delete;

  // Users with tokens, active jobs or leases.
  [[nodiscard]] std::set<std::uint32_t> active_users() const {
    std::set<std::uint32_t> uids = tokens.users();
    for (const auto& [id, row] : engine.records().jobs()) {
      if (!row.over) uids.insert(row.uid);
    }
    for (const auto& [id, lease] : engine.records().leases()) uids.insert(lease.taker);
    return uids;
  }
  void schedule_lookup_retry() {
    retry_timer.expires_after(kLookupRetryInterval);
    retry_timer.async_wait([this](const boost::system::error_code& stopped) {
      if (stopped) return;
      access.retry_lookup();
      limits.release_held();
      schedule_lookup_retry();
    });
  }

  // Of runs that ended before this start and of those that end from now on.
  void count_logs(Supervisor& supervisor) {
    using Runs = std::vector<store::EndedRun>;
    const auto add = [this, &supervisor](const Runs& runs) {
      std::vector<LogQuota::EndedRun> ended;
      for (const store::EndedRun& run : runs) {
        ended.push_back({.run = run.run, .uid = run.uid, .folder = supervisor.folder_of(run)});
      }
      log_quota.add(std::move(ended));
    };
    supervisor.on_run_ended = [add](const store::EndedRun& run) { add({run}); };
    const bool is_accepted = reader.query<Runs>(
        0, [](store::Store& store) { return store.ended_runs(); },
        [add](const Result<Runs>& runs) {
          if (runs) add(*runs);
          if (!runs) spdlog::error("logs of ended runs are not counted: {}", runs.error().message);
        });
    CHECK(is_accepted);  // the reader was just created
  }

  boost::asio::io_context& loop;
  Engine& engine;
  Access access;
  Views views;
  Limits limits;
  Dependencies dependencies;
  ArrayService arrays;
  LogQuota log_quota;
  HistoryReader reader;
  JobService jobs;
  NodeService node;
  ExplainService explain;
  DefragService defrag;
  HistoryService history;
  Leases leases;
  EventService events;
  Tokens tokens;
  Metrics metrics;
  Hooks hooks;
  std::unique_ptr<Audit> audit;
  boost::asio::steady_timer retry_timer{loop};
  std::shared_ptr<void> alive = std::make_shared<int>(0);
};

ApiService::ApiService(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
ApiService::~ApiService() = default;

Result<std::unique_ptr<ApiService>> ApiService::open(boost::asio::io_context& loop, Engine& engine,
                                                     Hardware& hardware, Supervisor& supervisor,
                                                     const Endpoints& endpoints,
                                                     const Cgroups& cgroups, const Config& config) {
  auto audit = Audit::open(config.audit.empty() ? config.state_dir + "/audit.log" : config.audit);
  if (!audit) return std::unexpected(audit.error());
  auto parts = std::make_unique<Parts>(loop, engine, hardware, supervisor, endpoints, cgroups,
                                       config, *std::move(audit));
  if (auto loaded = parts->tokens.load(); !loaded) return std::unexpected(loaded.error());
  return std::unique_ptr<ApiService>(new ApiService(std::move(parts)));
}

http::ApiHandlers ApiService::handlers() {
  http::ApiHandlers handlers = parts_->jobs.handlers();
  parts_->arrays.register_handlers(handlers);
  parts_->node.register_handlers(handlers);
  parts_->explain.register_handlers(handlers);
  parts_->defrag.register_handlers(handlers);
  parts_->history.register_handlers(handlers);
  parts_->leases.register_handlers(handlers);
  parts_->events.register_handlers(handlers);
  parts_->tokens.register_handlers(handlers);
  parts_->metrics.register_handlers(handlers);
  parts_->audit->register_handlers(handlers);
  handlers.identity_known = [](const http::Caller& caller) {
    return user_identity_known(caller.uid);
  };
  handlers.is_durable = [&engine = parts_->engine](std::optional<std::uint64_t> job) {
    return engine.is_durable(job);
  };
  handlers.on_durable = [&engine = parts_->engine](std::function<void()> notify) {
    return engine.on_durable(std::move(notify));
  };
  handlers.status = [&parts = *parts_,
                     status = std::move(handlers.status)](const http::Caller& caller) {
    auto view = status(caller);
    if (!view) return view;
    view->user = parts.limits.use_of(caller);
    view->time_limits = parts.limits.time_limits_of(caller);
    view->user.log_bytes.used = parts.log_quota.bytes_of(caller.uid);
    return view;
  };
  // A token stores the name of its user, who must be known first. Users that the caller may not
  // create tokens for are not looked up.
  handlers.create_token = [&parts = *parts_, create = std::move(handlers.create_token)](
                              const http::Caller& caller, const api::TokenRequest& request,
                              const http::Reply<api::TokenView>& reply) {
    const bool may = Access::is_superuser(caller);
    await_identity(parts.loop, may ? request.uid.value_or(caller.uid) : caller.uid, parts.alive,
                   [=] { create(caller, request, reply); });
  };
  // So does a lease; its caller may disconnect during the lookup, which releases the handle.
  handlers.acquire =
      [&parts = *parts_, acquire = std::move(handlers.acquire)](
          const http::Caller& caller, const api::LeaseRequest& request,
          const http::Reply<http::ApiHandlers::Acquired>& reply) -> std::shared_ptr<void> {
    const auto handle = std::make_shared<std::shared_ptr<void>>();
    const bool may = parts.access.is_admin(caller);
    await_identity(parts.loop, may ? request.uid.value_or(caller.uid) : caller.uid, handle,
                   [=, weak = std::weak_ptr(handle)] {
                     if (const auto locked = weak.lock()) *locked = acquire(caller, request, reply);
                   });
    return handle;
  };
  return handlers;
}

void ApiService::on_jobs_changed(const std::vector<std::uint64_t>& jobs) {
  parts_->jobs.on_jobs_changed(jobs);
  parts_->limits.on_jobs_changed(jobs);
  parts_->dependencies.on_jobs_changed(jobs);
  parts_->arrays.on_jobs_changed(jobs);
  parts_->leases.on_jobs_changed(jobs);
}

void ApiService::forget_logs(const std::vector<std::uint32_t>& runs) {
  parts_->log_quota.forget(runs);
}

void ApiService::start_hooks() { parts_->hooks.start(); }

void ApiService::on_child_ended(pid_t pid, int status) {
  parts_->hooks.on_child_ended(pid, status);
}

Leases& ApiService::leases() { return parts_->leases; }

void ApiService::apply_configured_tuning(const api::TuningChange& change,
                                         std::function<void(JobTable&)> edit_rows) {
  parts_->node.apply_configured_tuning(change, std::move(edit_rows));
}

void ApiService::reload(const Config& config) {
  parts_->views.set_tuning_in_file(config.tuning_in_file);
  parts_->jobs.set_move_services(config.move_services);
  parts_->access.set_group(config.admins);
  parts_->access.restrict_submission(config.only_admins_submit);
  parts_->limits.set(config.limits);
  parts_->log_quota.set_limit(config.limits.log_bytes);
  parts_->leases.set_linger(config.linger);
  parts_->hooks.set(config.hooks);
}

}  // namespace tangram::daemon
