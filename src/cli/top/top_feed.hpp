// TopFeed: fetches what `tangram top` shows on threads of its own: periodically, on events and
// after each request. The drawing thread never waits for the daemon; the daemon is queried at most
// twice a second.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "api/job.hpp"
#include "api/node.hpp"
#include "cli/client/daemon_link.hpp"
#include "cli/client/event_stream.hpp"
#include "os/descriptor.hpp"

namespace tangram::cli {

// The state of the node at one time.
struct TopSnapshot {
  api::StatusView status;
  std::vector<api::GpuView> gpus;
  std::vector<api::JobView> jobs;
  api::WallTime taken{};
  std::string trouble;         // why it is not newer: the error of the last fetch
  std::uint64_t left_out = 0;  // active jobs that were not fetched, because there are too many

  // The mean over the usable GPUs; nullopt if there is none.
  [[nodiscard]] std::optional<double> frag_cost() const;
};

// An action the user requested with a key, and its result.
struct TopRequest {
  enum class Action { kCancel, kExplain } action = Action::kExplain;
  std::uint64_t job = 0;
};
struct TopReply {
  TopRequest request;
  bool ok = true;
  std::string text;  // lines; the error if not ok
};

class TopFeed {
 public:
  static constexpr std::chrono::milliseconds kMinInterval{500};  // between fetches
  static constexpr std::size_t kMaxJobs = 1'000;                 // fetched at a time

  TopFeed(DaemonOptions daemon, std::chrono::milliseconds every);
  ~TopFeed();
  TopFeed(const TopFeed&) = delete;
  TopFeed& operator=(const TopFeed&) = delete;
  TopFeed(TopFeed&&) = delete;
  TopFeed& operator=(TopFeed&&) = delete;

  // Readable when there is an update; take() clears it.
  [[nodiscard]] int descriptor() const { return update_.get(); }
  struct Update {
    std::shared_ptr<const TopSnapshot> snapshot;
    std::optional<TopReply> reply;
  };
  [[nodiscard]] Update take();
  // Queues a request; its reply comes with a later update. Does not block.
  void send(const TopRequest& request);

 private:
  void run_fetcher();
  void run_listener();
  void notify();
  [[nodiscard]] Result<TopSnapshot> fetch();
  [[nodiscard]] Result<void> fetch_jobs(TopSnapshot& snapshot);
  [[nodiscard]] Result<std::vector<api::JobView>> get_jobs(const std::string& target);
  [[nodiscard]] Result<void> ensure_connected();
  [[nodiscard]] TopReply execute(const TopRequest& request);
  // Waits; returns true if the feed is to stop.
  [[nodiscard]] bool pause(std::chrono::milliseconds time);

  DaemonOptions daemon_;
  std::chrono::milliseconds every_;
  os::Descriptor update_;
  EventStop stop_events_;

  std::mutex mutex_;
  std::condition_variable wake_;
  bool ending_ = false;
  bool event_pending_ = false;
  std::deque<TopRequest> requests_;
  std::shared_ptr<const TopSnapshot> snapshot_ = std::make_shared<TopSnapshot>();
  std::optional<TopReply> reply_;

  std::optional<http::Client> client_;  // used by fetcher_ only
  std::thread fetcher_;
  std::thread listener_;
};

}  // namespace tangram::cli
