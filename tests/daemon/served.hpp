// Served: a node with the example service on it, reached through its endpoint and moved by hand.
// One rule: nothing in it is a stand-in, as in Node.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "node.hpp"

namespace tangram::tests {

class Served {
 public:
  // The scheduler's own moves are off unless the options say otherwise.
  using Probe = boost::json::object;
  explicit Served(NodeOptions options = {}, const boost::json::object& more = {}, int load_ms = 50);

  Node node;
  std::uint64_t job = 0;

  // How long replicas load that are started from now on.
  void load_for(int ms);
  [[nodiscard]] std::uint16_t port();
  [[nodiscard]] std::pair<int, int> place();  // GPU and start
  // Asks for a move; the answer is awaited, its end is not.
  void ask_move(int gpu, int start, int status = 202);
  // And waits until it is over: whether the job is there then.
  bool move(int gpu, int start);
  void await_rest();  // no move is under way
  // GET path: status and body, over a connection of its own; status 0 if there was none.
  [[nodiscard]] std::pair<int, std::string> get(const std::string& path);
};

}  // namespace tangram::tests
