// Lane: one GPU's queue of changes, the thread that makes them one after another, and the watchdog
// that gives up waiting for it. A driver call cannot be cancelled; so when one takes too long, its
// requester is told that the GPU does not respond, and whenever the call does return, its result is
// thrown away and the GPU is looked at instead. One rule: every request is answered exactly once.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "device/device.hpp"
#include "device/failure.hpp"
#include "device/library.hpp"

namespace tangram::device {

// What stands on a GPU after a call that was given up on has returned.
struct Reconciled {
  std::string gpu_uuid;
  Outcome<std::vector<Instance>> instances;
};
using OnReconciled = std::function<void(const Reconciled&)>;

class Lane : public std::enable_shared_from_this<Lane> {
 public:
  using Answer = std::function<void()>;
  struct Request {
    std::function<Answer(const Gpu&, const std::stop_token&)> work;  // gives what tells its result
    std::function<void(Failure)> refuse;
    std::chrono::milliseconds limit;  // from when its turn has come
  };

  Lane(std::shared_ptr<const Library> library, Gpu gpu, OnReconciled on_reconciled);

  void start();
  void submit(Request request);
  void update(const Gpu& gpu);
  [[nodiscard]] bool is_responsive() const;
  // Refuses what waits, stops what can be stopped, waits for what runs until it is over or past its
  // limit; a thread that hangs in the driver is left behind, and tells nobody anything any more.
  void close();

 private:
  using Clock = std::chrono::steady_clock;
  struct Running {
    Clock::time_point deadline;
    std::function<void(Failure)> refuse;
  };
  using Refusals = std::vector<std::function<void(Failure)>>;

  void work();
  void watch();
  std::optional<Failure> enqueue(Request& request);
  std::optional<Request> next();
  bool finish();
  void reconcile();
  [[nodiscard]] Refusals give_up();
  [[nodiscard]] Failure unresponsive() const;
  [[nodiscard]] Failure closing() const;

  const std::shared_ptr<const Library> library_;
  const OnReconciled on_reconciled_;
  const std::string gpu_uuid_;
  std::stop_source stop_;
  std::thread worker_;
  std::thread watchdog_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Gpu gpu_;
  std::deque<Request> queue_;
  std::optional<Running> running_;
  bool is_given_up_ = false;  // the running request was answered by the watchdog
  bool is_telling_ = false;   // a callback that is not a request's own answer is under way
  bool is_closing_ = false;
  bool is_closed_ = false;  // no callback from now on
  bool is_over_ = false;    // the worker has ended
};

}  // namespace tangram::device
