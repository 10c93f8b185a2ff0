// See endpoints.hpp: what is said to endpoints and heard from them.
#include <filesystem>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/json/object.hpp>
#include <spdlog/spdlog.h>

#include "base/text.hpp"
#include "daemon/endpoints.hpp"
#include "daemon/endpoints_door.hpp"
#include "endpoint/folder.hpp"

namespace tangram::daemon {
namespace {

constexpr std::chrono::milliseconds kRelink{100};
constexpr std::chrono::milliseconds kSwitchTime{10'000};
constexpr std::chrono::milliseconds kTurnBackTime{10'000};
constexpr std::chrono::milliseconds kBeyondDrain{10'000};
// One that dies sooner would die again: it is opened with pauses.
constexpr std::chrono::milliseconds kLivesWell{10'000};
constexpr std::chrono::milliseconds kEndTime{5'000};

std::optional<std::int64_t> number_in(const boost::json::object& line, const char* key) {
  const auto* value = line.if_contains(key);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  boost::system::error_code bad;
  const auto number = value->to_number<std::int64_t>(bad);
  return bad ? std::nullopt : std::optional(number);
}

}  // namespace

void Endpoints::link(const DoorPtr& door) {
  if (door->phase != Door::Phase::kEnding) door->phase = Door::Phase::kLinked;
  door->is_greeted = false;
  door->asked.reset();
  door->route_id = 0;
  const std::weak_ptr<Door> weak = door;
  ControlLink::Told tell;
  tell.line = [this, weak](const boost::json::object& line) {
    if (const DoorPtr self = weak.lock()) told(self, line);
  };
  tell.end = [this, weak] {
    if (const DoorPtr self = weak.lock()) link_ended(self);
  };
  door->link = std::make_unique<ControlLink>(loop_, door->folder, std::move(tell));
}

// Its process is gone, or only the connection to it.
void Endpoints::link_ended(const DoorPtr& door) {
  door->link.reset();
  door->is_greeted = false;
  const bool lives = endpoint::endpoint_lives(door->folder);
  const bool is_ending = door->phase == Door::Phase::kEnding;
  if (!lives && is_ending) return forget(door);
  if (!lives) {
    spdlog::error("job {}: its endpoint is gone; it is opened again", door->job);
    keep_counts(door);
    door->routed.reset();
    door->silent = 0;
    if (door->is_turning_back) fail_switch(door);  // it carries nothing to the replica
    door->phase = Door::Phase::kOpening;
    const auto greeted = std::exchange(door->greeted, std::nullopt);
    if (!greeted || std::chrono::steady_clock::now() - *greeted < kLivesWell) {
      return open_later(door, "it ended soon after it was opened; its log says why.");
    }
    door->attempts = 0;
    open(door);
    return;
  }
  door->retry.expires_after(kRelink);
  door->retry.async_wait([this, alive = alive_, door](const boost::system::error_code& stopped) {
    if (stopped || !*alive || door->link) return;
    link(door);
    if (door->phase == Door::Phase::kEnding) end(door);
  });
}

void Endpoints::forget(const DoorPtr& door) {
  keep_counts(door);
  std::error_code ignored;
  std::filesystem::remove_all(door->folder, ignored);
  ending_.erase(door);
}

void Endpoints::told(const DoorPtr& door, const boost::json::object& line) {
  if (door->phase != Door::Phase::kEnding) door->silent = 0;
  if (line.contains("version")) return greeted(door, line);
  if (line.contains("drained")) return drained(door, line);
  const auto id = number_in(line, "done");
  if (!id) {
    const auto* error = line.if_contains("error");
    if (error != nullptr && error->is_string()) {
      spdlog::error("job {}: its endpoint says: {}", door->job,
                    std::string_view(error->get_string()));
    }
    return;
  }
  if (const auto* counts = line.if_contains("counts")) {
    if (const auto read = api::read_endpoint_counts(*counts)) counted(door, *read);
    return;
  }
  if (*id == door->route_id) done(door);
}

// It tells its address, which is the job's from now on, and where it sends traffic.
void Endpoints::greeted(const DoorPtr& door, const boost::json::object& line) {
  const auto version = number_in(line, "version").value_or(0);
  door->is_strange = version != api::kEndpointVersion;
  if (door->is_strange && door->phase != Door::Phase::kEnding) {
    say(door,
        cat("speaks version ", version, ", but this tangramd knows ", api::kEndpointVersion,
            " only: it goes on as it is, and the job cannot be moved. Use the programs of one "
            "installation."));
    return;
  }
  door->is_greeted = true;
  if (!door->greeted) door->greeted = std::chrono::steady_clock::now();
  const auto run = number_in(line, "run");
  door->routed = run ? std::optional(static_cast<std::uint32_t>(*run)) : std::nullopt;
  if (door->phase == Door::Phase::kEnding) return;
  // At once, and not with the next look: what comes in between would be of the past, too.
  if (door->is_found) door->link->send({{"do", "counts"}, {"id", ++door->last_id}});
  const auto port = number_in(line, "port");
  const auto* host = line.if_contains("host");
  if (port && host != nullptr && host->is_string()) {
    door->spec.port = static_cast<std::uint16_t>(*port);
    const bool is_v6 = std::string_view(host->get_string()).find(':') != std::string_view::npos;
    const std::string name(host->get_string());
    const std::string address = cat(is_v6 ? "[" : "", name, is_v6 ? "]:" : ":", *port);
    const store::JobRow* row = engine_.records().job(door->job);
    if (row != nullptr && (row->address != address || !row->reason.empty())) {
      engine_.post(Input{.event = core::WakeUp{},
                         .note = [job = door->job, address, number = door->spec.port,
                                  is_well = door->is_read](Records& records) {
                           store::JobRow* mine = records.edit_job(job);
                           if (mine == nullptr) return;
                           mine->address = address;
                           mine->port = number;
                           if (is_well && mine->reason.starts_with("its endpoint "))
                             mine->reason.clear();
                         }});
    }
  }
  if (door->is_turning_back && door->routed != door->pending->to.value()) fail_switch(door);
  steer(door);
}

// Where new traffic of the job should go, by the scheduler's state; to the original if that is just
// about to be told that its replica could not take over.
std::optional<Endpoints::Target> Endpoints::wanted(const Door& door) const {
  const core::Node& node = engine_.scheduler().node();
  const core::JobSlot slot = node.find_job(core::JobId(door.job));
  if (slot == core::kNoJob) return std::nullopt;
  const core::Job& job = node.job(slot);
  const bool switched = job.move == core::MovePhase::kSwitching ||
                        job.move == core::MovePhase::kDraining ||
                        job.move == core::MovePhase::kStopping;
  const bool is_there = switched && job.replica.ready && !door.is_turning_back;
  const core::Replica& there = is_there ? job.replica : job.main;
  if (there.run == core::kNoRun || !there.ready) return std::nullopt;
  const store::RunRow* row = engine_.records().run(there.run.value());
  if (row == nullptr || !row->port) return std::nullopt;
  return Target{.run = there.run.value(), .port = *row->port};
}

void Endpoints::steer(const DoorPtr& door) {
  if (!door->link || !door->is_greeted || door->phase != Door::Phase::kLinked) return;
  const auto target = wanted(*door);
  const bool is_asked = door->route_id != 0 && door->asked == target;
  // Said again for a switch that is to be answered: then it tells of the drain again, too.
  const bool must_answer = door->pending && target && target->run == door->pending->to.value();
  if (is_asked && !(must_answer && door->is_confirmed)) return;
  door->asked = target;
  door->is_confirmed = false;
  door->route_id = ++door->last_id;
  if (!target) {
    door->link->send({{"do", "hold"}, {"id", door->route_id}});
    return;
  }
  door->link->send({{"do", "route"},
                    {"id", door->route_id},
                    {"run", target->run},
                    {"port", target->port},
                    {"drain_ms", door->drain.count()}});
}

void Endpoints::done(const DoorPtr& door) {
  const auto before = door->routed;
  door->is_confirmed = true;
  door->routed = door->asked ? std::optional(door->asked->run) : std::nullopt;
  if (!door->pending || door->routed != door->pending->to.value()) return;
  const bool will_say = before == door->pending->from.value() || before == door->routed;
  answer_switched(door);
  // An endpoint that never had the original cannot say when that is drained.
  if (door->draining && !will_say) answer_drained(door, 0, 0);
}

void Endpoints::switch_traffic(const core::SwitchTraffic& wanted_switch) {
  const auto known = doors_.find(wanted_switch.job.value());
  if (known == doors_.end() || !known->second) {
    engine_.post(core::TrafficSwitched{wanted_switch.job, wanted_switch.to});
    if (wanted_switch.from != core::kNoRun) {
      engine_.post(core::TrafficDrained{wanted_switch.job, wanted_switch.from, wanted_switch.to});
    }
    return;
  }
  const DoorPtr door = known->second;
  if (!door->is_read) {
    if (const auto read = read_request(*door); !read) {
      spdlog::error("job {}: how long to drain is not known: {}", door->job, read.error().message);
    }
  }
  door->pending = wanted_switch;
  door->is_turning_back = false;
  door->draining.reset();
  door->deadline.expires_after(kSwitchTime);
  door->deadline.async_wait([this, alive = alive_, door](const boost::system::error_code& stopped) {
    if (!stopped && *alive && door->pending) turn_back(door);
  });
  steer(door);
}

// Whether it has switched is not known: it may carry traffic to the replica, which is stopped as
// soon as the switch has failed. So it is steered back first, and the failure told when nothing is
// with the replica any more, when the endpoint is gone, or when that takes too long as well.
void Endpoints::turn_back(const DoorPtr& door) {
  spdlog::error("job {}: its endpoint did not switch within {} ms", door->job, kSwitchTime.count());
  if (!door->link && !endpoint::endpoint_lives(door->folder)) return fail_switch(door);
  door->is_turning_back = true;
  door->deadline.expires_after(kTurnBackTime);
  door->deadline.async_wait([this, alive = alive_, door](const boost::system::error_code& stopped) {
    if (!stopped && *alive && door->is_turning_back) fail_switch(door);
  });
  steer(door);
}

void Endpoints::fail_switch(const DoorPtr& door) {
  const core::SwitchTraffic pending = *std::exchange(door->pending, std::nullopt);
  door->is_turning_back = false;
  door->deadline.cancel();
  core::ActionFailed event;
  event.kind = core::ActionKind::kSwitchTraffic;
  event.job = pending.job;
  event.run = pending.to;
  engine_.post(Input{.event = event, .note = [job = door->job](Records& records) {
                       store::MoveRow* move = records.edit_move(job);
                       if (move == nullptr || !move->reason.empty()) return;
                       move->reason =
                           cat("its endpoint did not switch within ", kSwitchTime.count(), " ms");
                     }});
}

void Endpoints::answer_switched(const DoorPtr& door) {
  const core::SwitchTraffic pending = *std::exchange(door->pending, std::nullopt);
  door->deadline.cancel();
  engine_.post(core::TrafficSwitched{pending.job, pending.to});
  if (pending.from == core::kNoRun) return;
  door->draining = pending;
  // It cuts what lasts too long; this is for one that died meanwhile and cannot say so.
  door->deadline.expires_after(door->drain + kBeyondDrain);
  door->deadline.async_wait([this, alive = alive_, door](const boost::system::error_code& stopped) {
    if (!stopped && *alive && door->draining) answer_drained(door, 0, 0);
  });
}

void Endpoints::drained(const DoorPtr& door, const boost::json::object& line) {
  const auto run = number_in(line, "drained");
  if (door->is_turning_back && run && *run == door->pending->to.value()) return fail_switch(door);
  if (!door->draining || !run || *run != door->draining->from.value()) return;
  const auto amount = [&](const char* key) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, number_in(line, key).value_or(0)));
  };
  answer_drained(door, amount("finished"), amount("cut"));
}

void Endpoints::answer_drained(const DoorPtr& door, std::uint64_t finished, std::uint64_t cut) {
  const core::SwitchTraffic was = *std::exchange(door->draining, std::nullopt);
  door->deadline.cancel();
  engine_.post(Input{.event = core::TrafficDrained{was.job, was.from, was.to},
                     .note = [job = door->job, finished, cut](Records& records) {
                       if (store::MoveRow* row = records.edit_move(job)) {
                         row->finished += finished;
                         row->cut += cut;
                       }
                     }});
}

// Its job is over. What it has in flight may end; the process goes by itself, and tells before how
// much it did. One that does not is seen to in watch().
void Endpoints::end(const DoorPtr& door) {
  ending_.insert(door);
  if (door->phase != Door::Phase::kEnding) door->silent = 0;
  door->phase = Door::Phase::kEnding;
  door->retry.cancel();
  door->deadline.cancel();
  door->pending.reset();
  door->is_turning_back = false;
  door->draining.reset();
  if (door->is_starting) return;  // opened() goes on
  if (!door->link && !endpoint::endpoint_lives(door->folder)) return forget(door);
  if (!door->link) link(door);
  door->link->send({{"do", "counts"}, {"id", ++door->last_id}});
  door->link->send({{"do", "end"}, {"id", ++door->last_id}, {"drain_ms", kEndTime.count()}});
}

}  // namespace tangram::daemon
