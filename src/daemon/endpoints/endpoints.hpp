// Endpoints: the relays of services. Each service with an endpoint has a tangram-endpoint process,
// which owns the service's address and outlives the daemon. Endpoints starts these processes,
// reconnects to those of an earlier daemon, and sets the route of each: to the original, to the
// replica of a move, or none. The route follows from the committed state alone, so it is the same
// after any crash. All functions run on the event loop.
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
#include "daemon/engine/engine.hpp"

namespace boost::asio {
class io_context;
}

namespace tangram::daemon {

class SystemdScope;

struct EndpointsOptions {
  std::string folder;   // parent of the endpoint folders
  std::string program;  // path of tangram-endpoint
  std::string host = "127.0.0.1";
  std::uint16_t first_port = 19'000;
  std::uint16_t last_port = 19'999;
  api::EndpointLimits limits{};  // defaults
  std::chrono::milliseconds start_time{30'000};
  std::shared_ptr<SystemdScope> scope = {};  // where endpoints are put; null: none
};

class Endpoints {
 public:
  Endpoints(boost::asio::io_context& loop, Engine& engine, EndpointsOptions options);
  ~Endpoints();
  Endpoints(const Endpoints&) = delete;
  Endpoints& operator=(const Endpoints&) = delete;
  Endpoints(Endpoints&&) = delete;
  Endpoints& operator=(Endpoints&&) = delete;

  // Reconnects to the endpoints of an earlier daemon, starts missing ones, ends orphans.
  void recover();
  // Ends endpoints of which the store knows no job, and removes the folders of ended ones. Not
  // those of jobs for which `has_orphan_of` is true: they serve a run without a job in the store
  // either.
  void end_orphans();
  std::function<bool(std::uint64_t job)> has_orphan_of;
  // Called after a batch changed the records of `jobs`: starts, routes or ends their endpoints.
  void on_jobs_changed(const std::vector<std::uint64_t>& jobs);
  // Posts TrafficSwitched and then TrafficDrained, or ActionFailed. At once for a job without an
  // endpoint.
  void switch_traffic(const core::SwitchTraffic& action);

  // Sums over all endpoints since this daemon started, including those that have ended.
  [[nodiscard]] api::EndpointCounts counts() const;

 private:
  struct EndpointProcess;
  struct Threads;
  using ProcessPtr = std::shared_ptr<EndpointProcess>;
  // Where an endpoint sends new traffic.
  struct Route {
    std::uint32_t run = 0;
    std::uint16_t port = 0;
    friend bool operator==(const Route&, const Route&) = default;
  };

  // endpoints.cpp: which endpoints should exist, and their processes
  void update(std::uint64_t job);
  [[nodiscard]] ProcessPtr make_process(const store::JobRow& row);
  [[nodiscard]] Result<bool> read_request(EndpointProcess& process);
  void start_or_connect(const ProcessPtr& process);
  void look_up_group(const ProcessPtr& process, const api::EndpointSpec& spec);
  void spawn(const ProcessPtr& process, const api::EndpointSpec& spec);
  void on_started(const ProcessPtr& process, const Result<void>& result);
  void retry_start(const ProcessPtr& process, const std::string& why);
  void set_reason(const ProcessPtr& process, const std::string& why);
  // Forgets a process that was never started, because its job wants no endpoint.
  void forget_unstarted(const ProcessPtr& process);

  // endpoints_traffic.cpp: the connection to an endpoint, its route, and its end
  void open_link(const ProcessPtr& process);
  void on_link_closed(const ProcessPtr& process);
  void on_line(const ProcessPtr& process, const boost::json::object& line);
  void on_greeting(const ProcessPtr& process, const boost::json::object& line);
  void on_route_done(const ProcessPtr& process);
  void on_drained(const ProcessPtr& process, const boost::json::object& line);
  // The route that follows from the committed state; nullopt: hold new traffic.
  [[nodiscard]] std::optional<Route> committed_route(const EndpointProcess& process) const;
  void apply_route(const ProcessPtr& process);
  // Asks the process to drain and exit; it is then removed.
  void end_process(const ProcessPtr& process);
  // Forgets a process that has exited, and removes its folder.
  void remove_exited(const ProcessPtr& process);
  void report_switched(const ProcessPtr& process);
  void report_drained(const ProcessPtr& process, std::uint64_t finished, std::uint64_t cut);
  void revert_route(const ProcessPtr& process);
  void fail_switch(const ProcessPtr& process);

  // endpoints_watch.cpp: polls their counts, which also shows whether they respond
  void poll_all();
  static void poll(const ProcessPtr& process);
  static void on_counts(const ProcessPtr& process, const api::EndpointCounts& reported);
  void keep_counts(const ProcessPtr& process);

  boost::asio::io_context& loop_;
  Engine& engine_;
  EndpointsOptions options_;
  std::map<std::uint64_t, ProcessPtr> processes_;  // by job; null: the job has no endpoint
  std::set<ProcessPtr> ending_;                    // their jobs have ended
  api::EndpointCounts past_counts_;                // of endpoints that are gone
  std::unique_ptr<Threads> threads_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace tangram::daemon
