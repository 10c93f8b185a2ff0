// GpuQueue: the changes to one GPU, executed in order by a worker thread, and a watchdog thread
// that enforces each request's time limit. A driver call cannot be cancelled: when it exceeds the
// limit, the watchdog rejects the request (and all that wait) as kUnresponsive; when the call does
// return, its result is discarded and the GPU's instances are read and reported instead. Every
// request is answered exactly once: by its work's reply, or by `reject`.
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

// The instances of a GPU, read after a call that had timed out returned.
struct Reconciled {
  std::string gpu_uuid;
  Outcome<std::vector<Instance>> instances;
};
using OnReconciled = std::function<void(const Reconciled&)>;

class GpuQueue : public std::enable_shared_from_this<GpuQueue> {
 public:
  using Reply = std::function<void()>;
  struct Request {
    // Runs on the worker; returns the function that delivers the result.
    std::function<Reply(const Gpu&, const std::stop_token&)> work;
    std::function<void(Failure)> reject;  // called instead if `work` is not run or exceeds `limit`
    std::chrono::milliseconds limit;      // from the start of `work`
  };

  GpuQueue(std::shared_ptr<const Library> library, Gpu gpu, OnReconciled on_reconciled);

  void start();
  void submit(Request request);
  // Replaces the Gpu that later requests are given; `gpu` has the same UUID.
  void update(const Gpu& gpu);
  // False from a timeout until the late call has returned.
  [[nodiscard]] bool is_responsive() const;
  // Rejects the queued requests, requests a stop of the running one, and waits until it ends or
  // exceeds its limit. A worker stuck in the driver is detached. No callback is made after the
  // return.
  void close();

 private:
  using Clock = std::chrono::steady_clock;
  struct Running {
    Clock::time_point deadline;
    std::function<void(Failure)> reject;
  };
  using Rejections = std::vector<std::function<void(Failure)>>;

  void run_worker();
  void run_watchdog();
  std::optional<Failure> try_enqueue(Request& request);
  std::optional<Request> next();
  bool finish();
  void report_instances();
  [[nodiscard]] Rejections give_up();
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
  bool is_given_up_ = false;  // the running request was rejected by the watchdog
  bool in_callback_ = false;  // rejections or on_reconciled_ are being called
  bool is_closing_ = false;
  bool is_closed_ = false;     // no callback from now on
  bool worker_ended_ = false;  // the worker has ended
};

}  // namespace tangram::device
