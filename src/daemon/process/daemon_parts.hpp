// The parts of a Daemon; private to daemon/process. Members are in order of dependency: each uses
// those above it and is destroyed before them.
#pragma once

#include <memory>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include "daemon/engine/wall_clock_guard.hpp"
#include "daemon/process/daemon.hpp"
#include "daemon/runs/cgroups.hpp"

namespace tangram::store {
class Store;
}
namespace tangram::http {
class Server;
}

namespace tangram::daemon {

class CheckpointMover;
class Endpoints;
class Engine;
class ApiService;
class Hardware;
class ReplicaMover;
class Supervisor;

struct Daemon::Parts {
  boost::asio::io_context loop{1};
  boost::asio::signal_set signals{loop};
  boost::asio::steady_timer retention{loop};
  WallClockGuard wall_clock_guard;
  boost::asio::steady_timer watchdog{loop};
  boost::asio::steady_timer stopping{loop};
  std::unique_ptr<store::Store> store;
  std::unique_ptr<Engine> engine;
  std::unique_ptr<Hardware> hardware;
  Cgroups cgroups;
  std::unique_ptr<Supervisor> supervisor;
  std::unique_ptr<Endpoints> endpoints;
  std::unique_ptr<ReplicaMover> replica_mover;
  std::unique_ptr<CheckpointMover> checkpoint_mover;
  std::unique_ptr<ApiService> api;
  std::unique_ptr<http::Server> server;
};

}  // namespace tangram::daemon
