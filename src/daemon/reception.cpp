// See reception.hpp: jobs asked for, stopped and awaited.
#include "daemon/reception.hpp"

#include <algorithm>
#include <unistd.h>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/json/serialize.hpp>

#include "base/text.hpp"
#include "daemon/hardware.hpp"
#include "daemon/problems.hpp"
#include "daemon/supervisor.hpp"
#include "daemon/users.hpp"

namespace tangram::daemon {
namespace {

bool is_master(const http::Caller& caller) { return caller.uid == 0 || caller.uid == geteuid(); }

}  // namespace

Reception::Reception(boost::asio::io_context& loop, Engine& engine, Hardware& hardware,
                     Supervisor& supervisor, const Cgroups& cgroups, bool emulated)
    : loop_(loop),
      engine_(engine),
      hardware_(hardware),
      supervisor_(supervisor),
      cgroups_(cgroups),
      emulated_(emulated) {}

http::Doors Reception::doors() {
  http::Doors doors;
  doors.submit = [this](const Caller& caller, const api::JobRequest& request,
                        const Reply<std::uint64_t>& reply) { submit(caller, request, reply); };
  doors.jobs = [this](const Caller& caller, const http::JobFilter& filter) {
    return jobs(caller, filter);
  };
  doors.job = [this](const Caller& caller, std::uint64_t id) { return job(caller, id); };
  doors.cancel = [this](const Caller& caller, std::uint64_t id, const Reply<api::JobView>& reply) {
    cancel(caller, id, reply);
  };
  doors.signal = [this](const Caller& caller, std::uint64_t id, int number,
                        const Reply<void>& reply) { signal(caller, id, number, reply); };
  doors.wait = [this](const Caller& caller, std::uint64_t id, http::WaitFor what,
                      const Reply<api::JobView>& reply) { return wait(caller, id, what, reply); };
  doors.logs = [this](const Caller& caller, std::uint64_t id) { return logs(caller, id); };
  doors.gpus = [this](const Caller& caller) { return gpus(caller); };
  doors.status = [this](const Caller& caller) { return status(caller); };
  return doors;
}

// A daemon that is not root could run the jobs of others only as itself.
http::Answer<void> Reception::admit(const Caller& caller) const {
  if (geteuid() == 0 || is_master(caller)) return {};
  return std::unexpected(forbidden(
      cat("this tangramd runs as ", user_name(geteuid()), " and serves that user only; you are ",
          user_name(caller.uid), ". Start one as root to serve everybody.")));
}

void Reception::submit(const Caller& caller, const api::JobRequest& request,
                       const Reply<std::uint64_t>& reply) {
  if (const auto admitted = admit(caller); !admitted) {
    reply(std::unexpected(admitted.error()));
    return;
  }
  const auto profile = choose_profile(request);
  if (!profile) {
    reply(std::unexpected(profile.error()));
    return;
  }
  if (const auto limits = check_limits(request); !limits) {
    reply(std::unexpected(limits.error()));
    return;
  }
  store::JobRow row;
  row.id = engine_.next_job();
  row.uid = caller.uid;
  row.user = user_name(caller.uid);
  row.request = boost::json::serialize(api::to_json(request));
  row.name = request.name.empty()
                 ? request.command.front().substr(request.command.front().rfind('/') + 1)
                 : request.name;
  row.profile = *profile;
  row.state = api::name_of(api::JobState::kQueued);
  row.submitted = Clock::wall();
  core::JobSpec spec;
  spec.id = core::JobId(row.id);
  spec.profile = *profile;
  spec.kind =
      request.kind == api::JobKind::kBatch ? core::JobKind::kBatch : core::JobKind::kService;
  const bool has_probe = request.probe.kind != api::Probe::Kind::kNone;
  // With a port of its own choice a replica could not listen beside the original.
  spec.movable = !request.port &&
                 request.movable.value_or(request.kind == api::JobKind::kService && has_probe);
  spec.restart = static_cast<core::Restart>(request.restart);
  spec.max_restarts = request.max_restarts;
  spec.held = request.hold;
  const std::uint64_t id = row.id;
  engine_.post(Input{.event = core::JobSubmitted{spec},
                     .note = [row = std::move(row)](Records& records) { records.put(row); },
                     .done =
                         [reply, id](const Result<void>& result) {
                           if (result) {
                             reply(id);
                           } else {
                             reply(std::unexpected(unavailable(result.error().message)));
                           }
                         },
                     .wish = true});
}

http::Answer<std::string> Reception::choose_profile(const api::JobRequest& request) const {
  const core::Node& node = engine_.scheduler().node();
  const mig::Profile* smallest = nullptr;
  std::vector<std::string> names;
  for (std::size_t m = 0; m < node.model_count(); ++m) {
    for (const mig::Profile& each :
         node.model(core::ModelId(static_cast<std::uint8_t>(m))).profiles()) {
      if (std::ranges::find(names, each.name) == names.end()) names.push_back(each.name);
      const bool plain = each.name.find_first_of("+-") == std::string::npos;
      if (!request.gpu_memory_mib || !plain) continue;
      const auto memory = static_cast<std::uint64_t>(each.facts.memory_mib);
      if (memory < *request.gpu_memory_mib) continue;
      const auto size = [](const mig::Profile& p) {
        return std::pair(p.facts.memory_mib, p.compute_slices);
      };
      if (smallest == nullptr || size(each) < size(*smallest)) smallest = &each;
    }
  }
  if (names.empty()) {
    return std::unexpected(unserved(
        "no GPU of this node can be used: see `tangram gpus`, or `tangram device doctor`."));
  }
  if (request.gpu_memory_mib) {
    if (smallest != nullptr) return smallest->name;
    return std::unexpected(
        unserved(cat("no profile of this node's GPUs has ", *request.gpu_memory_mib,
                     " MiB of memory; there are ", join_words(names), ".")));
  }
  const auto known = node.find_name(request.profile);
  if (known && node.known_to_some_gpu(*known)) return request.profile;
  const auto near = nearest(request.profile, names);
  return std::unexpected(unserved(
      cat("no GPU of this node has the profile ", tangram::quoted(request.profile),
          near ? cat("; did you mean ", *near, "?") : ".", " There are ", join_words(names), ".")));
}

http::Answer<void> Reception::check_limits(const api::JobRequest& request) const {
  if (request.port && request.movable.value_or(false)) {
    return std::unexpected(unserved(
        "a job with a port of its own cannot be movable: its replica could not listen beside it. "
        "Leave the port out; the job finds one in PORT."));
  }
  if ((request.cpu_percent && !cgroups_.cpu) || (request.memory_bytes && !cgroups_.memory)) {
    return std::unexpected(
        unserved(cat("limits of CPU and memory cannot be set here: ", cgroups_.why_not,
                     ". Submit without them, or run tangramd under systemd with Delegate=yes.")));
  }
  return {};
}

// From memory if it is recent, else from the store.
http::Answer<store::JobRow> Reception::find(const Caller& caller, std::uint64_t id) {
  if (const auto admitted = admit(caller); !admitted) return std::unexpected(admitted.error());
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
  if (!row || is_master(caller) || row->uid == caller.uid) return row;
  return std::unexpected(forbidden(
      cat("job ", id, " is ", row->user, "'s: only its owner and root ", "may ", deed, " it.")));
}

void Reception::cancel(const Caller& caller, std::uint64_t id, const Reply<api::JobView>& reply) {
  const auto row = find_own(caller, id, "cancel");
  if (!row) {
    reply(std::unexpected(row.error()));
    return;
  }
  if (row->over) {
    reply(std::unexpected(conflict(cat("job ", id, " is over already: ", row->state, "."))));
    return;
  }
  engine_.post(Input{.event = core::JobCancelled{core::JobId(id)},
                     .done =
                         [this, caller, id, reply](const Result<void>& result) {
                           if (result) {
                             reply(job(caller, id));
                           } else {
                             reply(std::unexpected(unavailable(result.error().message)));
                           }
                         },
                     .wish = true});
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
  auto& waiting = waiters_[id];
  std::erase_if(waiting, [](const auto& each) { return each.expired(); });
  waiting.push_back(waiter);
  boost::asio::post(loop_, [this, id] { changed({id}); });
  return waiter;
}

void Reception::changed(const std::vector<std::uint64_t>& jobs) {
  for (const std::uint64_t id : jobs) {
    const auto at = waiters_.find(id);
    if (at == waiters_.end()) continue;
    std::vector<std::shared_ptr<Waiter>> told;
    std::erase_if(at->second, [&](const std::weak_ptr<Waiter>& each) {
      const auto waiter = each.lock();
      if (!waiter) return true;
      const auto view = job(waiter->caller, id);
      const bool over = !view || api::is_over(view->state);
      const bool so = over || (waiter->what == http::WaitFor::kRunning &&
                               view->state == api::JobState::kRunning);
      if (so) told.push_back(waiter);
      return so;
    });
    if (at->second.empty()) waiters_.erase(at);
    for (const auto& waiter : told) waiter->reply(job(waiter->caller, id));
  }
}

http::Answer<http::LogSource> Reception::logs(const Caller& caller, std::uint64_t id) {
  const auto row = find_own(caller, id, "read the output of");
  if (!row) return std::unexpected(row.error());
  const auto runs = engine_.store().runs(id);
  if (!runs) return std::unexpected(unavailable(runs.error().message));
  http::LogSource source;
  source.over = row->over;
  for (const store::RunRow& run : *runs) source.folders.push_back(supervisor_.folder_of(run));
  return source;
}

}  // namespace tangram::daemon
