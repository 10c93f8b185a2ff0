// Endpoints: the addresses of services, each in the care of a tangram-endpoint process that
// outlives the daemon. It starts them, finds those of an earlier daemon again, and steers each to
// where the scheduler's state says that its service is: the original, the replica of a move, or
// nowhere. One rule: where traffic should go follows from the committed state alone, so that after
// any crash the same question has the same answer.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/endpoint_spec.hpp"
#include "base/error.hpp"
#include "core/action.hpp"
#include "daemon/engine.hpp"

namespace boost::asio {
class io_context;
}

namespace tangram::daemon {

struct EndpointsOptions {
  std::string folder;   // of the endpoints' folders
  std::string program;  // tangram-endpoint
  std::string host = "127.0.0.1";
  std::uint16_t first_port = 19'000;
  std::uint16_t last_port = 19'999;
  api::EndpointLimits limits{};  // of services that do not say
  std::chrono::milliseconds start_time{30'000};
};

class Endpoints {
 public:
  Endpoints(boost::asio::io_context& loop, Engine& engine, EndpointsOptions options);
  ~Endpoints();
  Endpoints(const Endpoints&) = delete;
  Endpoints& operator=(const Endpoints&) = delete;
  Endpoints(Endpoints&&) = delete;
  Endpoints& operator=(Endpoints&&) = delete;

  // Those of an earlier daemon, and those that should be there; what belongs to no job is ended.
  void adopt();
  // Jobs whose records changed.
  void changed(const std::vector<std::uint64_t>& jobs);
  // Answered by TrafficSwitched and TrafficDrained; at once for a job without an endpoint.
  void switch_traffic(const core::SwitchTraffic& wanted);

  // Of all that are or were there since the daemon began.
  [[nodiscard]] api::EndpointCounts counts() const;

 private:
  struct Door;
  struct Threads;
  using DoorPtr = std::shared_ptr<Door>;
  struct Target {
    std::uint32_t run = 0;
    std::uint16_t port = 0;
    friend bool operator==(const Target&, const Target&) = default;
  };

  // endpoints.cpp: which there should be, and their processes
  void review(std::uint64_t job);
  [[nodiscard]] DoorPtr make_door(const store::JobRow& row);
  [[nodiscard]] Result<bool> read_request(Door& door);
  void open(const DoorPtr& door);
  void identify(const DoorPtr& door, const api::EndpointSpec& spec);
  void start(const DoorPtr& door, const api::EndpointSpec& spec);
  void opened(const DoorPtr& door, const Result<void>& result);
  void open_later(const DoorPtr& door, const std::string& why);
  void say(const DoorPtr& door, const std::string& why);
  void wants_none(const DoorPtr& door);
  void end_strays();

  // endpoints_steer.cpp: what is said to them and heard from them
  void link(const DoorPtr& door);
  void link_ended(const DoorPtr& door);
  void told(const DoorPtr& door, const boost::json::object& line);
  void greeted(const DoorPtr& door, const boost::json::object& line);
  void done(const DoorPtr& door);
  void drained(const DoorPtr& door, const boost::json::object& line);
  [[nodiscard]] std::optional<Target> wanted(const Door& door) const;
  void steer(const DoorPtr& door);
  void end(const DoorPtr& door);
  void forget(const DoorPtr& door);
  void answer_switched(const DoorPtr& door);
  void answer_drained(const DoorPtr& door, std::uint64_t finished, std::uint64_t cut);
  void turn_back(const DoorPtr& door);
  void fail_switch(const DoorPtr& door);

  // endpoints_watch.cpp: what they count, and whether they still answer
  void watch();
  void watch(const DoorPtr& door);
  void counted(const DoorPtr& door, const api::EndpointCounts& told);
  void keep_counts(const DoorPtr& door);

  boost::asio::io_context& loop_;
  Engine& engine_;
  EndpointsOptions options_;
  std::map<std::uint64_t, DoorPtr> doors_;  // null: the job wants none, which is known
  std::set<DoorPtr> ending_;                // their jobs are over
  api::EndpointCounts past_;                // of endpoints that are gone
  std::unique_ptr<Threads> threads_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace tangram::daemon
