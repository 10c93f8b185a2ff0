// SlotObserver: watches a node from outside, through /proc alone: no MIG instance may be used by
// the processes of two jobs at the same time. It looks in a thread of its own until stop().
#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include "node.hpp"

namespace tangram::tests {

class SlotObserver {
 public:
  explicit SlotObserver(const Node& node);
  ~SlotObserver();
  SlotObserver(const SlotObserver&) = delete;
  SlotObserver& operator=(const SlotObserver&) = delete;
  SlotObserver(SlotObserver&&) = delete;
  SlotObserver& operator=(SlotObserver&&) = delete;

  // Ends the thread and returns what was wrong. `looks`: how often it has looked.
  struct Result {
    std::vector<std::string> violations;
    std::size_t looks = 0;
  };
  Result stop();

 private:
  void look();

  const Node& node_;
  Result result_;  // of the thread, until it has ended
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace tangram::tests
