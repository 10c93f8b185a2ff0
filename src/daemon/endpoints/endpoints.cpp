// See endpoints.hpp: which endpoints should exist, and their processes.
#include "daemon/endpoints/endpoints.hpp"

#include <algorithm>
#include <filesystem>
#include <unistd.h>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/json/parse.hpp>
#include <spdlog/spdlog.h>

#include "base/text.hpp"
#include "daemon/access/user_cache.hpp"
#include "daemon/endpoints/endpoint_process.hpp"
#include "daemon/runs/run_folder_gc.hpp"
#include "daemon/runs/spawn.hpp"
#include "endpoint/process/folder.hpp"

namespace tangram::daemon {
namespace {

constexpr std::chrono::milliseconds kFirstRetry{250};
constexpr std::chrono::milliseconds kLongestRetry{30'000};

// Whether the service has been placed before. It then keeps its endpoint until it ends, also while
// it is queued again.
bool has_been_placed(const core::Job& job, const store::JobRow& row) {
  return job.phase >= core::JobPhase::kPlaced || !row.address.empty();
}

// Blocks.
Result<void> start_in(const std::string& folder, const api::EndpointSpec& spec,
                      const std::string& program, std::chrono::milliseconds time,
                      SystemdScope* scope) {
  if (auto made = endpoint::prepare_endpoint_folder(folder, spec); !made) return made;
  return start_endpoint(program, folder, time, scope);
}

Result<std::uint32_t> group_in(const Result<Identity>& who) {
  if (!who) return std::unexpected(who.error());
  if (who->account) return who->account->gid;
  return failed(cat("unknown user ", who->uid, ": cannot determine the group."));
}

}  // namespace

Endpoints::Endpoints(boost::asio::io_context& loop, Engine& engine, EndpointsOptions options)
    : loop_(loop),
      engine_(engine),
      options_(std::move(options)),
      threads_(std::make_unique<Threads>(loop)) {
  poll_all();
}

// The endpoints continue without the daemon.
Endpoints::~Endpoints() {
  *alive_ = false;
  threads_->starting.join();
}

void Endpoints::recover() {
  const core::Node& node = engine_.scheduler().node();
  std::vector<std::uint64_t> jobs;
  for (const core::JobSlot slot : node.jobs_by_id()) jobs.push_back(node.job(slot).id.value());
  on_jobs_changed(jobs);
  end_orphans();
}

void Endpoints::on_jobs_changed(const std::vector<std::uint64_t>& jobs) {
  for (const std::uint64_t job : jobs) update(job);
}

void Endpoints::update(std::uint64_t job) {
  const core::Node& node = engine_.scheduler().node();
  const core::JobSlot slot = node.find_job(core::JobId(job));
  const auto known = processes_.find(job);
  if (slot == core::kNoJob) {
    if (known == processes_.end()) return;
    const ProcessPtr process = known->second;
    processes_.erase(known);
    if (process) end_process(process);
    return;
  }
  if (known != processes_.end()) {
    if (known->second) apply_route(known->second);
    return;
  }
  const store::JobRow* row = engine_.records().job(job);
  if (node.job(slot).kind != core::JobKind::kService || row == nullptr) return;
  if (!has_been_placed(node.job(slot), *row)) return;
  const ProcessPtr process = make_process(*row);
  const auto wants_one = read_request(*process);
  if (wants_one && !*wants_one) {
    processes_[job] = nullptr;
    return;
  }
  processes_[job] = process;
  start_or_connect(process);
}

Endpoints::ProcessPtr Endpoints::make_process(const store::JobRow& row) {
  auto process = std::make_shared<EndpointProcess>(loop_);
  process->job = row.id;
  process->folder =
      cat(options_.folder, "/", row.id, "-", row.submitted.time_since_epoch().count());
  return process;
}

// Fills in what follows from the job's request, which only the store has. Returns whether the job
// wants an endpoint. An error: the request cannot be read, so it is not known what the job wants.
Result<bool> Endpoints::read_request(EndpointProcess& process) {
  const auto row = engine_.store().job(process.job);
  if (!row) return std::unexpected(row.error());
  if (!*row) return not_found(cat("job ", process.job, " is not in the store."));
  boost::system::error_code bad;
  const auto request = api::read_job_request(boost::json::parse((*row)->request, bad));
  if (bad) return failed(cat("its request in the store is damaged: ", bad.message(), "."));
  if (!request) return std::unexpected(request.error());
  process.has_request = true;
  if (api::endpoint_mode(*request) == api::EndpointMode::kNone) return false;
  process.drain = request->endpoint.drain;
  process.spec.job = process.job;
  process.spec.mode = api::endpoint_mode(*request);
  process.spec.host = request->endpoint.host.empty() ? options_.host : request->endpoint.host;
  process.spec.forwarded = request->endpoint.forwarded;
  api::apply(options_.limits, process.spec);
  api::apply(request->endpoint.limits, process.spec);
  // A service keeps the address that it was given first.
  process.spec.port =
      (*row)->address.empty() ? request->port.value_or(0) : (*row)->port.value_or(0);
  // The group is looked up at every attempt to start it, because the lookup may fail or take long.
  if (geteuid() == 0) process.spec.user = api::EndpointSpec::User{.uid = (*row)->uid, .gid = 0};
  return true;
}

// Starts the process, or connects to the one that is running: of an earlier daemon, or of a start
// that timed out. Only starting it needs the request.
void Endpoints::start_or_connect(const ProcessPtr& process) {
  process->phase = EndpointProcess::Phase::kStarting;
  process->has_greeting = false;
  const auto wants_one = process->has_request ? Result<bool>(true) : read_request(*process);
  if (wants_one && !*wants_one) {
    forget_unstarted(process);
    return;
  }
  if (endpoint::is_endpoint_running(process->folder)) {
    if (!wants_one)
      set_reason(process, cat("keeps running unchanged: ", wants_one.error().message));
    process->is_recovered = true;
    open_link(process);
    return;
  }
  if (!wants_one) {
    retry_start(process, wants_one.error().message);
    return;
  }
  const auto port =
      process->spec.port != 0
          ? std::optional(process->spec.port)
          : threads_->ports.find_free({options_.first_port, options_.last_port}, engine_.records());
  if (!port) {
    retry_start(process, "no free port between endpoints.first_port and endpoints.last_port.");
    return;
  }
  process->is_starting = true;
  api::EndpointSpec spec = process->spec;
  spec.port = *port;
  if (spec.user) {
    look_up_group(process, spec);
  } else {
    spawn(process, spec);
  }
}

// Looks the group up before the start takes a thread: a hanging user database would block them all.
void Endpoints::look_up_group(const ProcessPtr& process, const api::EndpointSpec& spec) {
  threads_->user_lookup.look_up(spec.user->uid,
                                [this, alive = alive_, process, spec](const Result<Identity>& who) {
                                  if (!*alive) return;
                                  const auto gid = group_in(who);
                                  if (!gid) {
                                    on_started(process, std::unexpected(gid.error()));
                                    return;
                                  }
                                  if (process->phase == EndpointProcess::Phase::kEnding) {
                                    on_started(process, failed("no longer needed."));
                                    return;
                                  }
                                  api::EndpointSpec known = spec;
                                  known.user->gid = *gid;
                                  spawn(process, known);
                                });
}

void Endpoints::spawn(const ProcessPtr& process, const api::EndpointSpec& spec) {
  boost::asio::post(threads_->starting, [this, alive = alive_, process, spec,
                                         folder = process->folder, program = options_.program,
                                         time = options_.start_time, scope = options_.scope] {
    Result<void> result = start_in(folder, spec, program, time, scope.get());
    boost::asio::post(loop_, [this, alive, process, result = std::move(result)] {
      if (*alive) on_started(process, result);
    });
  });
}

void Endpoints::on_started(const ProcessPtr& process, const Result<void>& result) {
  process->is_starting = false;
  if (process->phase == EndpointProcess::Phase::kEnding) {  // its job ended meanwhile
    end_process(process);
    return;
  }
  if (result) {
    open_link(process);
  } else {
    retry_start(process, result.error().message);
  }
}

// Reports the failure as the job's reason, since clients cannot reach the service, and retries.
void Endpoints::retry_start(const ProcessPtr& process, const std::string& why) {
  set_reason(process, cat("cannot be started: ", why));
  const int doublings = std::min(process->attempts++, 7);
  process->retry.expires_after(std::min(kLongestRetry, kFirstRetry * (1 << doublings)));
  process->retry.async_wait(
      [this, alive = alive_, process](const boost::system::error_code& stopped) {
        if (!stopped && *alive && process->phase == EndpointProcess::Phase::kStarting)
          start_or_connect(process);
      });
}

// Logs `why` and stores it as the job's reason. on_greeting() clears it when the endpoint works
// again.
void Endpoints::set_reason(const ProcessPtr& process, const std::string& why) {
  spdlog::error("job {}: its endpoint {}", process->job, why);
  engine_.post(
      Input{.event = core::WakeUp{}, .edit_rows = [job = process->job, why](JobTable& records) {
              store::JobRow* row = records.edit_job(job);
              if (row != nullptr) row->reason = cat("its endpoint ", why);
            }});
}

// The request could be read only now.
void Endpoints::forget_unstarted(const ProcessPtr& process) {
  const auto pending = process->pending;
  process->deadline.cancel();
  processes_[process->job] = nullptr;
  if (pending) switch_traffic(*pending);
}

// Ends endpoints whose job ended while no daemon ran or is in another store, and removes the
// folders of ended ones.
void Endpoints::end_orphans() {
  std::set<std::string> known;
  for (const auto& [job, process] : processes_) {
    if (process) known.insert(process->folder);
  }
  for (const ProcessPtr& process : ending_) known.insert(process->folder);
  std::error_code unread;
  std::filesystem::directory_iterator entry(options_.folder, unread);
  for (; !unread && entry != std::filesystem::directory_iterator(); entry.increment(unread)) {
    const std::string folder = entry->path().string();
    const auto name = name_of_folder(folder);
    if (!name || known.contains(folder)) continue;
    if (has_orphan_of && has_orphan_of(name->id)) continue;  // it goes on with the run
    if (!endpoint::is_endpoint_running(folder)) {
      std::error_code ignored;
      std::filesystem::remove_all(entry->path(), ignored);
      continue;
    }
    spdlog::warn("ending the orphaned endpoint in {}", folder);
    auto process = std::make_shared<EndpointProcess>(loop_);
    process->folder = folder;
    process->is_recovered = true;
    open_link(process);
    end_process(process);
  }
}

}  // namespace tangram::daemon
