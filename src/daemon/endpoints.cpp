// See endpoints.hpp: which endpoints there should be, and their processes.
#include "daemon/endpoints.hpp"

#include <algorithm>
#include <filesystem>
#include <unistd.h>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/json/parse.hpp>
#include <spdlog/spdlog.h>

#include "base/text.hpp"
#include "daemon/endpoints_door.hpp"
#include "daemon/spawn.hpp"
#include "daemon/users.hpp"
#include "endpoint/folder.hpp"

namespace tangram::daemon {
namespace {

constexpr std::chrono::milliseconds kFirstRetry{250};
constexpr std::chrono::milliseconds kLongestRetry{30'000};

// From its first place on, and then until it is over: also while it waits for another place.
bool has_begun(const core::Job& job, const store::JobRow& row) {
  return job.phase >= core::JobPhase::kPlaced || !row.address.empty();
}

// Blocks.
Result<void> start_in(const std::string& folder, const api::EndpointSpec& spec,
                      const std::string& program, std::chrono::milliseconds time) {
  if (auto made = endpoint::prepare_endpoint_folder(folder, spec); !made) return made;
  return start_endpoint(program, folder, time);
}

Result<std::uint32_t> group_in(const Result<Identity>& who) {
  if (!who) return std::unexpected(who.error());
  if (who->account) return who->account->gid;
  return failed(cat("nobody knows the user ", who->uid, ", so his group is not known."));
}

}  // namespace

Endpoints::Endpoints(boost::asio::io_context& loop, Engine& engine, EndpointsOptions options)
    : loop_(loop),
      engine_(engine),
      options_(std::move(options)),
      threads_(std::make_unique<Threads>(loop)) {
  watch();
}

// The endpoints go on without us.
Endpoints::~Endpoints() {
  *alive_ = false;
  threads_->starting.join();
}

void Endpoints::adopt() {
  const core::Node& node = engine_.scheduler().node();
  std::vector<std::uint64_t> jobs;
  for (const core::JobSlot slot : node.jobs_by_id()) jobs.push_back(node.job(slot).id.value());
  changed(jobs);
  end_strays();
}

void Endpoints::changed(const std::vector<std::uint64_t>& jobs) {
  for (const std::uint64_t job : jobs) review(job);
}

void Endpoints::review(std::uint64_t job) {
  const core::Node& node = engine_.scheduler().node();
  const core::JobSlot slot = node.find_job(core::JobId(job));
  const auto known = doors_.find(job);
  if (slot == core::kNoJob) {
    if (known == doors_.end()) return;
    const DoorPtr door = known->second;
    doors_.erase(known);
    if (door) end(door);
    return;
  }
  if (known != doors_.end()) {
    if (known->second) steer(known->second);
    return;
  }
  const store::JobRow* row = engine_.records().job(job);
  if (node.job(slot).kind != core::JobKind::kService || row == nullptr) return;
  if (!has_begun(node.job(slot), *row)) return;
  const DoorPtr door = make_door(*row);
  const auto wants_one = read_request(*door);
  if (wants_one && !*wants_one) {
    doors_[job] = nullptr;
    return;
  }
  doors_[job] = door;
  open(door);
}

Endpoints::DoorPtr Endpoints::make_door(const store::JobRow& row) {
  auto door = std::make_shared<Door>(loop_);
  door->job = row.id;
  door->folder = cat(options_.folder, "/", row.id, "-", row.submitted.time_since_epoch().count());
  return door;
}

// The request is in the store only. Whether its job wants an endpoint at all; an error: that is not
// known, and nothing may be concluded from it.
Result<bool> Endpoints::read_request(Door& door) {
  const auto row = engine_.store().job(door.job);
  if (!row) return std::unexpected(row.error());
  if (!*row) return not_found(cat("job ", door.job, " is not in the store."));
  boost::system::error_code bad;
  const auto request = api::read_job_request(boost::json::parse((*row)->request, bad));
  if (bad) return failed(cat("its request in the store is damaged: ", bad.message(), "."));
  if (!request) return std::unexpected(request.error());
  door.is_read = true;
  if (api::endpoint_mode(*request) == api::EndpointMode::kNone) return false;
  door.drain = request->endpoint.drain;
  door.spec.job = door.job;
  door.spec.mode = api::endpoint_mode(*request);
  door.spec.host = request->endpoint.host.empty() ? options_.host : request->endpoint.host;
  door.spec.forwarded = request->endpoint.forwarded;
  api::apply(options_.limits, door.spec);
  api::apply(request->endpoint.limits, door.spec);
  // The address it once had is its address.
  door.spec.port = (*row)->address.empty() ? request->port.value_or(0) : (*row)->port.value_or(0);
  // The group is looked up with every attempt to start it: that may fail, and takes its time.
  if (geteuid() == 0) door.spec.user = api::EndpointSpec::User{.uid = (*row)->uid, .gid = 0};
  return true;
}

// Or finds the one that is there: of an earlier daemon, or of a start that took too long. To steer
// it needs nothing of the request; to start it does.
void Endpoints::open(const DoorPtr& door) {
  door->phase = Door::Phase::kOpening;
  door->is_greeted = false;
  const auto wants_one = door->is_read ? Result<bool>(true) : read_request(*door);
  if (wants_one && !*wants_one) return wants_none(door);
  if (endpoint::endpoint_lives(door->folder)) {
    if (!wants_one) say(door, cat("goes on as it is: ", wants_one.error().message));
    door->is_found = true;
    link(door);
    return;
  }
  if (!wants_one) return open_later(door, wants_one.error().message);
  const auto port =
      door->spec.port != 0
          ? std::optional(door->spec.port)
          : threads_->ports.find_free({options_.first_port, options_.last_port}, engine_.records());
  if (!port) {
    open_later(door, "no port from endpoints.first_port to endpoints.last_port is free.");
    return;
  }
  door->is_starting = true;
  api::EndpointSpec spec = door->spec;
  spec.port = *port;
  if (spec.user) {
    identify(door, spec);
  } else {
    start(door, spec);
  }
}

// Before it has a thread: a user database that hangs would keep them all.
void Endpoints::identify(const DoorPtr& door, const api::EndpointSpec& spec) {
  threads_->directory.ask(spec.user->uid,
                          [this, alive = alive_, door, spec](const Result<Identity>& who) {
                            if (!*alive) return;
                            const auto gid = group_in(who);
                            if (!gid) return opened(door, std::unexpected(gid.error()));
                            if (door->phase == Door::Phase::kEnding)
                              return opened(door, failed("it is not needed."));
                            api::EndpointSpec known = spec;
                            known.user->gid = *gid;
                            start(door, known);
                          });
}

void Endpoints::start(const DoorPtr& door, const api::EndpointSpec& spec) {
  boost::asio::post(threads_->starting, [this, alive = alive_, door, spec, folder = door->folder,
                                         program = options_.program, time = options_.start_time] {
    Result<void> result = start_in(folder, spec, program, time);
    boost::asio::post(loop_, [this, alive, door, result = std::move(result)] {
      if (*alive) opened(door, result);
    });
  });
}

void Endpoints::opened(const DoorPtr& door, const Result<void>& result) {
  door->is_starting = false;
  if (door->phase == Door::Phase::kEnding) {  // its job ended meanwhile
    end(door);
    return;
  }
  if (result) {
    link(door);
  } else {
    open_later(door, result.error().message);
  }
}

// The service runs, but nobody reaches it: that is said, and tried again until it works.
void Endpoints::open_later(const DoorPtr& door, const std::string& why) {
  say(door, cat("cannot be opened: ", why));
  const int doublings = std::min(door->attempts++, 7);
  door->retry.expires_after(std::min(kLongestRetry, kFirstRetry * (1 << doublings)));
  door->retry.async_wait([this, alive = alive_, door](const boost::system::error_code& stopped) {
    if (!stopped && *alive && door->phase == Door::Phase::kOpening) open(door);
  });
}

// To the log, and to whoever looks at the job; taken back when the endpoint is well again.
void Endpoints::say(const DoorPtr& door, const std::string& why) {
  spdlog::error("job {}: its endpoint {}", door->job, why);
  engine_.post(Input{.event = core::WakeUp{}, .note = [job = door->job, why](Records& records) {
                       store::JobRow* row = records.edit_job(job);
                       if (row != nullptr) row->reason = cat("its endpoint ", why);
                     }});
}

// Which could be read only now.
void Endpoints::wants_none(const DoorPtr& door) {
  const auto pending = door->pending;
  door->deadline.cancel();
  doors_[door->job] = nullptr;
  if (pending) switch_traffic(*pending);
}

// Endpoints of jobs that ended while no daemon was there, or of another store; and what ended ones
// left behind.
void Endpoints::end_strays() {
  std::set<std::string> known;
  for (const auto& [job, door] : doors_) {
    if (door) known.insert(door->folder);
  }
  std::error_code unread;
  std::filesystem::directory_iterator entry(options_.folder, unread);
  for (; !unread && entry != std::filesystem::directory_iterator(); entry.increment(unread)) {
    const std::string folder = entry->path().string();
    if (known.contains(folder)) continue;
    if (!endpoint::endpoint_lives(folder)) {
      std::error_code ignored;
      std::filesystem::remove_all(entry->path(), ignored);
      continue;
    }
    spdlog::warn("ending an endpoint that belongs to no job: {}", folder);
    auto door = std::make_shared<Door>(loop_);
    door->folder = folder;
    door->is_found = true;
    link(door);
    end(door);
  }
}

}  // namespace tangram::daemon
