// ServiceNode: a Node that runs the example service (examples/llm_server.cpp), reached through its
// endpoint and moved by the test. As in Node, nothing is mocked.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "node.hpp"

namespace tangram::tests {

// GET of `path` on 127.0.0.1:port over a new connection: status and body, or 0 and the error.
[[nodiscard]] std::pair<int, std::string> get_at(std::uint16_t port, const std::string& path);

// The same, but gives up after `time`.
[[nodiscard]] std::pair<int, std::string> get_in_time(std::uint16_t port, const std::string& path,
                                                      std::chrono::milliseconds time);

class ServiceNode {
 public:
  // Starts the node and waits until the service is reached. The scheduler makes no moves of its own
  // unless `options.config` sets `migration`. `more`: further keys of the job request. `load_ms`:
  // how long a replica takes to become ready.
  explicit ServiceNode(NodeOptions options = {}, const boost::json::object& more = {},
                       int load_ms = 50);

  Node node;
  std::uint64_t job = 0;

  // For replicas that are started from now on.
  void set_load_time(int ms);
  [[nodiscard]] std::uint16_t port();
  [[nodiscard]] std::pair<int, int> slot();  // GPU and start
  // Requests a move and expects `status`; does not wait for the move.
  void request_move(int gpu, int start, int status = 202);
  // Requests a move and waits until it has ended. Returns whether the job is in that slot then.
  bool move(int gpu, int start);
  void await_no_move();
  // get_at() the service's address.
  [[nodiscard]] std::pair<int, std::string> get(const std::string& path);
};

}  // namespace tangram::tests
