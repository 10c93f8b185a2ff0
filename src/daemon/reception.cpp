// See reception.hpp: jobs asked for, stopped and awaited.
#include "daemon/reception.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "base/text.hpp"
#include "daemon/hardware.hpp"
#include "daemon/problems.hpp"
#include "daemon/supervisor.hpp"

namespace tangram::daemon {
namespace {

bool is_so(const store::JobRow& row, http::WaitFor what) {
  const bool runs = row.state == api::name_of(api::JobState::kRunning);
  return row.over || (what == http::WaitFor::kRunning && runs);
}

}  // namespace

Reception::Reception(boost::asio::io_context& loop, Engine& engine, Hardware& hardware,
                     Supervisor& supervisor, Reader& reader, const Views& views,
                     const Access& access, Limits& limits, const Cgroups& cgroups)
    : loop_(loop),
      engine_(engine),
      hardware_(hardware),
      supervisor_(supervisor),
      reader_(reader),
      views_(views),
      access_(access),
      limits_(limits),
      cgroups_(cgroups) {}

http::Doors Reception::doors() {
  http::Doors doors;
  doors.submit = [this](const Caller& caller, const api::JobRequest& request,
                        const http::Once& once, const Reply<http::Doors::Submitted>& reply) {
    submit(caller, request, once, reply);
  };
  doors.jobs = [this](const Caller& caller, const http::JobFilter& filter,
                      const Reply<std::vector<api::JobView>>& reply) {
    jobs(caller, filter, reply);
  };
  doors.job = [this](const Caller& caller, std::uint64_t id) { return job(caller, id); };
  doors.cancel = [this](const Caller& caller, std::uint64_t id, const Reply<api::JobView>& reply) {
    cancel(caller, id, reply);
  };
  doors.hold = [this](const Caller& caller, std::uint64_t id, const Reply<api::JobView>& reply) {
    hold(caller, id, reply);
  };
  doors.release = [this](const Caller& caller, std::uint64_t id, const Reply<api::JobView>& reply) {
    release(caller, id, reply);
  };
  doors.signal = [this](const Caller& caller, std::uint64_t id, int number,
                        const Reply<void>& reply) { signal(caller, id, number, reply); };
  doors.move = [this](const Caller& caller, std::uint64_t id, const api::MoveRequest& wish,
                      const Reply<api::JobView>& reply) { move(caller, id, wish, reply); };
  doors.wait = [this](const Caller& caller, std::uint64_t id, http::WaitFor what,
                      const Reply<api::JobView>& reply) { return wait(caller, id, what, reply); };
  doors.logs = [this](const Caller& caller, std::uint64_t id) { return logs(caller, id); };
  return doors;
}

// From memory if it is recent, else from the store.
http::Answer<store::JobRow> Reception::find(const Caller& caller, std::uint64_t id) {
  if (const auto admitted = access_.admit(caller); !admitted)
    return std::unexpected(admitted.error());
  if (const store::JobRow* row = engine_.records().job(id)) return *row;
  auto stored = engine_.store().job(id);
  if (!stored) return std::unexpected(unavailable(stored.error().message));
  if (*stored) return **std::move(stored);
  return std::unexpected(
      missing(cat("there is no job ", id, "; `tangram ps --all` lists those there are.")));
}

http::Answer<store::JobRow> Reception::find_own(const Caller& caller, std::uint64_t id,
                                                std::string_view deed) {
  auto row = find(caller, id);
  if (!row) return row;
  // A lease that an admin took for somebody is not changed by its number among jobs either.
  const store::LeaseRow* lease = engine_.records().lease(id);
  const auto may = access_.require_taker(caller, lease == nullptr ? row->uid : lease->taker,
                                         row->uid, cat("job ", id), deed);
  return may ? std::move(row) : std::unexpected(may.error());
}

http::Answer<store::JobRow> Reception::find_living(const Caller& caller, std::uint64_t id,
                                                   std::string_view deed) {
  auto row = find_own(caller, id, deed);
  if (!row || !row->over) return row;
  return std::unexpected(conflict(cat("job ", id, " is over already: ", row->state, ".")));
}

void Reception::cancel(const Caller& caller, std::uint64_t id, const Reply<api::JobView>& reply) {
  const auto row = find_living(caller, id, "cancel");
  if (!row) {
    reply(std::unexpected(row.error()));
    return;
  }
  change(caller, id, core::JobCancelled{core::JobId(id)}, reply);
}

void Reception::signal(const Caller& caller, std::uint64_t id, int signal,
                       const Reply<void>& reply) {
  const auto row = find_own(caller, id, "signal");
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

std::shared_ptr<void> Reception::wait(const Caller& caller, std::uint64_t id, http::WaitFor what,
                                      const Reply<api::JobView>& reply) {
  auto waiter = std::make_shared<Waiter>(what, caller, reply);
  const auto row = find(caller, id);
  if (!row) {
    boost::asio::post(loop_, [reply, problem = row.error()] { reply(std::unexpected(problem)); });
    return waiter;
  }
  if (is_so(*row, what)) {
    boost::asio::post(loop_, [this, weak = std::weak_ptr(waiter), id] {
      if (const auto told = weak.lock()) told->reply(job(told->caller, id));
    });
    return waiter;
  }
  auto& waiting = waiters_[id];
  if (waiting.size() % 16 == 15) {  // now and then, so that those who left do not pile up
    std::erase_if(waiting, [](const auto& each) { return each.expired(); });
  }
  waiting.push_back(waiter);
  return waiter;
}

void Reception::changed(const std::vector<std::uint64_t>& jobs) {
  for (const std::uint64_t id : jobs) {
    const auto at = waiters_.find(id);
    if (at == waiters_.end()) continue;
    const store::JobRow* row = engine_.records().job(id);
    std::vector<std::shared_ptr<Waiter>> told;
    std::erase_if(at->second, [&](const std::weak_ptr<Waiter>& each) {
      const auto waiter = each.lock();
      if (!waiter) return true;
      const bool so = row == nullptr || is_so(*row, waiter->what);
      if (so) told.push_back(waiter);
      return so;
    });
    if (at->second.empty()) waiters_.erase(at);
    for (const auto& waiter : told) waiter->reply(job(waiter->caller, id));
  }
}

http::Answer<http::LogSource> Reception::logs(const Caller& caller, std::uint64_t id) {
  const auto row = find(caller, id);
  if (!row) return std::unexpected(row.error());
  const auto may = access_.require_read(caller, row->uid, cat("job ", id), "read the output of");
  if (!may) return std::unexpected(may.error());
  if (row->kind == "lease") {
    return std::unexpected(conflict(
        cat("job ", id, " is a lease: whoever started its process has the output, not tangramd.")));
  }
  const auto runs = engine_.store().runs(id);
  if (!runs) return std::unexpected(unavailable(runs.error().message));
  http::LogSource source;
  source.over = row->over;
  for (const store::RunRow& run : *runs) source.folders.push_back(supervisor_.folder_of(run));
  return source;
}

}  // namespace tangram::daemon
