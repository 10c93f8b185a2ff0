// SlotObserver: watches a node from outside while it is under load, and reads nothing but NVML,
// /proc and the API. It looks in a thread of its own until stop(), for:
// - an instance that the processes of two jobs use at the same time
// - a process of a job on an instance that the driver does not have
// - an instance that the API reports for two active jobs, or a lease's with a process of a job
// - a job that has ended and is active again, ends otherwise, or is not listed any more
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <sys/types.h>
#include <thread>
#include <vector>

#include "node.hpp"

namespace tangram::tests {

class SlotObserver {
 public:
  // The node outlives this and may be stopped, killed and started again meanwhile.
  explicit SlotObserver(Node& node);
  ~SlotObserver();
  SlotObserver(const SlotObserver&) = delete;
  SlotObserver& operator=(const SlotObserver&) = delete;
  SlotObserver(SlotObserver&&) = delete;
  SlotObserver& operator=(SlotObserver&&) = delete;

  // Ends the thread and returns what was wrong. How often it has looked at /proc, and how often the
  // driver and the API answered it:
  struct Result {
    std::vector<std::string> violations;
    std::size_t looks = 0;
    std::size_t driver_looks = 0;
    std::size_t api_looks = 0;
  };
  Result stop();

  // A process of a job and the instance that it uses.
  struct Use {
    pid_t pid = 0;
    std::string job;
    std::string device;
    friend bool operator==(const Use&, const Use&) = default;
  };

 private:
  void look();
  void check_shared(const std::vector<Use>& uses);
  void check_driver(const std::vector<Use>& uses);
  void check_api(const std::vector<Use>& uses);
  void check_history();
  void add(std::string violation);

  Node& node_;
  Result result_;                              // of the thread, until it has ended
  std::map<std::uint64_t, std::string> ends_;  // how jobs ended, once they had
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace tangram::tests
