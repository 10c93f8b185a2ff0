// What a Daemon is made of. Private to daemon*.cpp. One rule: the order is that of dependence; what
// stands later uses what stands earlier and ends first.
#pragma once

#include <memory>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include "daemon/calendar.hpp"
#include "daemon/cgroups.hpp"
#include "daemon/daemon.hpp"

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
class Front;
class Hardware;
class ReplicaMover;
class Supervisor;

struct Daemon::Parts {
  boost::asio::io_context loop{1};
  boost::asio::signal_set signals{loop};
  boost::asio::steady_timer trim{loop};
  Calendar calendar;
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
  std::unique_ptr<Front> front;
  std::unique_ptr<http::Server> server;
};

}  // namespace tangram::daemon
