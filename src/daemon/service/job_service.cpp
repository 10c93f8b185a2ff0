// See job_service.hpp: the handlers, cancel, signal, wait and logs.
#include "daemon/service/job_service.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "base/text.hpp"
#include "daemon/access/problems.hpp"
#include "daemon/gpus/hardware.hpp"
#include "daemon/runs/supervisor.hpp"

namespace tangram::daemon {
namespace {

bool has_reached(const store::JobRow& row, http::WaitFor what) {
  const bool runs = row.state == api::name_of(api::JobState::kRunning);
  return row.over || (what == http::WaitFor::kRunning && runs);
}

}  // namespace

JobService::JobService(boost::asio::io_context& loop, Engine& engine, Hardware& hardware,
                       Supervisor& supervisor, HistoryReader& reader, const Views& views,
                       const Access& access, Limits& limits, Dependencies& dependencies,
                       Cgroups cgroups)
    : loop_(loop),
      engine_(engine),
      hardware_(hardware),
      supervisor_(supervisor),
      reader_(reader),
      views_(views),
      access_(access),
      limits_(limits),
      dependencies_(dependencies),
      cgroups_(std::move(cgroups)) {}

http::ApiHandlers JobService::handlers() {
  http::ApiHandlers handlers;
  handlers.submit = [this](const Caller& caller, const api::JobRequest& request,
                           const http::IdempotencyKey& idempotency,
                           const Reply<http::ApiHandlers::Submitted>& reply) {
    submit(caller, request, idempotency, reply);
  };
  handlers.jobs = [this](const Caller& caller, const http::JobFilter& filter,
                         const Reply<std::vector<api::JobView>>& reply) {
    jobs(caller, filter, reply);
  };
  handlers.job = [this](const Caller& caller, std::uint64_t id) { return job(caller, id); };
  handlers.cancel = [this](const Caller& caller, std::uint64_t id,
                           const Reply<api::JobView>& reply) { cancel(caller, id, reply); };
  handlers.hold = [this](const Caller& caller, std::uint64_t id, const Reply<api::JobView>& reply) {
    hold(caller, id, reply);
  };
  handlers.release = [this](const Caller& caller, std::uint64_t id,
                            const Reply<api::JobView>& reply) { release(caller, id, reply); };
  handlers.requeue = [this](const Caller& caller, std::uint64_t id,
                            const Reply<api::JobView>& reply) { requeue(caller, id, reply); };
  handlers.signal = [this](const Caller& caller, std::uint64_t id, int number,
                           const Reply<void>& reply) { signal(caller, id, number, reply); };
  handlers.move = [this](const Caller& caller, std::uint64_t id,
                         const api::MoveRequest& move_request, const Reply<api::JobView>& reply) {
    move(caller, id, move_request, reply);
  };
  handlers.wait = [this](const Caller& caller, std::uint64_t id, http::WaitFor what,
                         const Reply<api::JobView>& reply) {
    return wait(caller, id, what, reply);
  };
  handlers.logs = [this](const Caller& caller, std::uint64_t id) { return logs(caller, id); };
  return handlers;
}

// From memory if it is recent, else from the store.
http::Answer<store::JobRow> JobService::find(const Caller& caller, std::uint64_t id) {
  if (const auto admitted = access_.admit(caller); !admitted)
    return std::unexpected(admitted.error());
  if (const store::JobRow* row = engine_.records().job(id)) return *row;
  auto stored = engine_.store().job(id);
  if (!stored) return std::unexpected(unavailable(stored.error().message));
  if (*stored) return **std::move(stored);
  const auto array = engine_.store().array(id);
  if (array && *array) {
    return std::unexpected(missing(cat(
        "job ", id, ": is an array; name one of its tasks, e.g. ", id, "_",
        api::parse_array((*array)->spec).value_or(api::ArraySpec{{0}, 0}).indices.front(), ".")));
  }
  return std::unexpected(missing(cat("job ", id, ": not found; see `tangram ps --all`.")));
}

http::Answer<store::JobRow> JobService::find_controllable(const Caller& caller, std::uint64_t id,
                                                          std::string_view action) {
  auto row = find(caller, id);
  if (!row) return row;
  // The taker of a lease controls it, also when it is addressed as a job.
  const store::LeaseRow* lease = engine_.records().lease(id);
  const auto may = access_.require_taker(caller, lease == nullptr ? row->uid : lease->taker,
                                         row->uid, cat("job ", id), action);
  return may ? std::move(row) : std::unexpected(may.error());
}

http::Answer<store::JobRow> JobService::find_active(const Caller& caller, std::uint64_t id,
                                                    std::string_view action) {
  auto row = find_controllable(caller, id, action);
  if (!row || !row->over) return row;
  return std::unexpected(conflict(cat("job ", id, " has already ended: ", row->state, ".")));
}

void JobService::cancel(const Caller& caller, std::uint64_t id, const Reply<api::JobView>& reply) {
  const auto row = find_active(caller, id, "cancel");
  if (!row) {
    reply(std::unexpected(row.error()));
    return;
  }
  // A waiting job ends at once; why it waited is not why it ended.
  const auto edit = [id](JobTable& records) {
    store::JobRow* job = records.edit_job(id);
    if (job == nullptr || job->over || job->kind == "lease") return;
    job->waits_for.clear();
    if (job->state == api::name_of(api::JobState::kHeld)) job->reason.clear();
  };
  post_event(caller, id, core::JobCancelled{core::JobId(id)}, reply, edit);
}

void JobService::signal(const Caller& caller, std::uint64_t id, int signal,
                        const Reply<void>& reply) {
  const auto row = find_controllable(caller, id, "signal");
  if (!row) {
    reply(std::unexpected(row.error()));
    return;
  }
  const auto sent = supervisor_.signal(id, signal);
  if (sent) {
    reply({});
  } else {
    reply(std::unexpected(conflict(sent.error().message)));
  }
}

std::shared_ptr<void> JobService::wait(const Caller& caller, std::uint64_t id, http::WaitFor what,
                                       const Reply<api::JobView>& reply) {
  auto waiter = std::make_shared<Waiter>(what, caller, reply);
  const auto row = find(caller, id);
  if (!row) {
    boost::asio::post(loop_, [reply, problem = row.error()] { reply(std::unexpected(problem)); });
    return waiter;
  }
  if (has_reached(*row, what)) {
    boost::asio::post(loop_, [this, weak = std::weak_ptr(waiter), id] {
      if (const auto locked = weak.lock()) locked->reply(job(locked->caller, id));
    });
    return waiter;
  }
  auto& waiting = waiters_[id];
  if (waiting.size() % 16 == 15) {  // drop disconnected waiters now and then
    std::erase_if(waiting, [](const auto& each) { return each.expired(); });
  }
  waiting.push_back(waiter);
  return waiter;
}

void JobService::on_jobs_changed(const std::vector<std::uint64_t>& jobs) {
  for (const std::uint64_t id : jobs) {
    const auto at = waiters_.find(id);
    if (at == waiters_.end()) continue;
    const store::JobRow* row = engine_.records().job(id);
    std::vector<std::shared_ptr<Waiter>> reached;
    std::erase_if(at->second, [&](const std::weak_ptr<Waiter>& each) {
      const auto waiter = each.lock();
      if (!waiter) return true;
      const bool done = row == nullptr || has_reached(*row, waiter->what);
      if (done) reached.push_back(waiter);
      return done;
    });
    if (at->second.empty()) waiters_.erase(at);
    for (const auto& waiter : reached) waiter->reply(job(waiter->caller, id));
  }
}

http::Answer<http::LogSource> JobService::logs(const Caller& caller, std::uint64_t id) {
  const auto row = find(caller, id);
  if (!row) return std::unexpected(row.error());
  const auto may = access_.require_read(caller, row->uid, cat("job ", id), "read the output of");
  if (!may) return std::unexpected(may.error());
  if (row->kind == "lease") {
    return std::unexpected(conflict(cat(
        "job ", id, " is a lease: tangramd does not start its process and has no logs of it.")));
  }
  const auto runs = engine_.store().runs(id);
  if (!runs) return std::unexpected(unavailable(runs.error().message));
  http::LogSource source;
  source.is_complete = row->over;
  for (const store::RunRow& run : *runs) source.folders.push_back(supervisor_.folder_of(run));
  return source;
}

}  // namespace tangram::daemon
