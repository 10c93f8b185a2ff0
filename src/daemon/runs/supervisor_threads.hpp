// The Supervisor's thread pools: one per kind of blocking work, so that a slow disk or process
// holds up only its own kind. Not in supervisor.hpp because Asio's headers are heavy; included by
// the .cpp files of Supervisor only.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>

#include "daemon/access/user_lookup.hpp"
#include "daemon/runs/checkpoint_files.hpp"
#include "daemon/runs/port_allocator.hpp"
#include "daemon/runs/supervisor.hpp"
#include "os/socket_owner.hpp"

namespace tangram::daemon {

struct Supervisor::Threads {
  explicit Threads(boost::asio::io_context& loop) : user_lookup(loop), checkpoint_files(loop) {}
  UserLookup user_lookup;  // the accounts that jobs run as
  CheckpointFiles checkpoint_files;
  boost::asio::thread_pool starting{4};        // starts shims and seals run folders
  boost::asio::thread_pool killing{2};         // kills the processes of lost shims
  boost::asio::thread_pool removing{1};        // moves and removes folders
  std::atomic<bool> is_stopping = false;       // ends the removal of folders
  std::atomic<bool> is_lost_found_due = true;  // no pass over lost+found is queued or running
  PortAllocator ports;
  std::shared_ptr<os::SocketOwner> socket_owner = std::make_shared<os::SocketOwner>();
  std::uint32_t jobless = 0;                     // runs without a job so far
  std::vector<std::string> unknown_run_folders;  // run folders without a job in the store
};

}  // namespace tangram::daemon
