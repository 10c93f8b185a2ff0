// Training: a node on which batch jobs that save checkpoints are moved, for tests. One rule: jobs
// tell by their output and by files what happened to them, and tests wait for that.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include <boost/json/object.hpp>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "node.hpp"

namespace tangram::tests {

class Training : public testing::Test {
 protected:
  Training() : node({.config = "[scheduler]\nmigration = \"off\"\ncooldown = \"0s\"\n"}) {
    node.start();
  }
  std::uint64_t train(const std::string& script,
                      const boost::json::object& move = {{"way", "checkpoint"}},
                      boost::json::object more = {}) {
    more["move"] = move;
    const auto id = node.submit("1g.5gb", script, more);
    node.await(id, "running");
    return id;
  }
  // Waits until its output grows, which nothing but a run of it can do.
  void await_going_on(std::uint64_t id, std::size_t bytes = 20) {
    const std::size_t so_far = node.output(id).size();
    eventually("it goes on", [&] { return node.output(id).size() > so_far + bytes; });
  }
  void await_file(const std::string& name) {
    eventually(cat(name, " is there"), [&] { return node.folder().has(name); });
  }
  void ask_move(std::uint64_t id, int gpu, int start) {
    node.ask("POST", cat("/v1/jobs/", id, "/move"), 202,
             boost::json::object{{"to", {{"gpu", gpu}, {"start", start}}}});
  }
  void await_rest(std::uint64_t id) {
    eventually("no move is under way", [&] { return node.job(id).at("moving") == false; });
  }
  std::pair<int, int> place(std::uint64_t id) {
    const boost::json::object job = node.job(id);
    return {job.at("gpu").to_number<int>(), job.at("start").to_number<int>()};
  }

  Node node;
};

// The original stands frozen, its successor takes its time.
inline constexpr const char* kSlowSuccessor =
    "if [ \"$TANGRAM_RESUME\" = 1 ]; then : > successor; exec sleep 1000; fi; "
    "trap ': > ran' TERM; trap ': > $TANGRAM_CHECKPOINT/saved' USR1; "
    "while :; do echo tick; sleep 0.02; done";

}  // namespace tangram::tests
