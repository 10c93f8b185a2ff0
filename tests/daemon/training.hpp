// Training: a node on which batch jobs that save checkpoints are moved, for tests. Jobs record in
// their output and in files what they do, and tests wait for that.
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
  // Waits until the job's output grows, which only a running process of it can cause.
  void await_progress(std::uint64_t id, std::size_t bytes = 20) {
    const std::size_t so_far = node.output(id).size();
    eventually("the job makes progress", [&] { return node.output(id).size() > so_far + bytes; });
  }
  void await_file(const std::string& name) {
    eventually(cat("the file ", name, " exists"), [&] { return node.folder().has(name); });
  }
  void request_move(std::uint64_t id, int gpu, int start) {
    node.call("POST", cat("/v1/jobs/", id, "/move"), 202,
              boost::json::object{{"to", {{"gpu", gpu}, {"start", start}}}});
  }
  void await_no_move(std::uint64_t id) {
    eventually("no move is under way", [&] { return node.job(id).at("moving") == false; });
  }
  std::pair<int, int> slot(std::uint64_t id) {
    const boost::json::object job = node.job(id);
    return {job.at("gpu").to_number<int>(), job.at("start").to_number<int>()};
  }

  Node node;
};

// A job whose successor never becomes ready, so that the original stays frozen.
inline constexpr const char* kSlowSuccessor =
    "if [ \"$TANGRAM_RESUME\" = 1 ]; then : > successor; exec sleep 1000; fi; "
    "trap ': > ran' TERM; trap ': > $TANGRAM_CHECKPOINT/saved' USR1; "
    "while :; do echo tick; sleep 0.02; done";

}  // namespace tangram::tests
