// TopFeed: what `tangram top` shows, fetched in threads of its own: every second, when something
// happened and after everything that was asked of it. One rule: whoever draws never waits for the
// daemon, and the daemon is asked twice a second at most, however much happens.
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
#include "cli/daemon_link.hpp"
#include "cli/event_stream.hpp"
#include "files/descriptor.hpp"

namespace tangram::cli {

// The node at a moment.
struct TopPicture {
  api::StatusView status;
  std::vector<api::GpuView> gpus;
  std::vector<api::JobView> jobs;
  api::WallTime taken{};
  std::string trouble;         // why it is not newer: the daemon does not answer
  std::uint64_t left_out = 0;  // jobs that are not over and were not asked for: too many

  // Mean of the GPUs that can be used; none: there is no such GPU.
  [[nodiscard]] std::optional<double> frag_cost() const;
};

// What the person at the keys wants to know or to have done, and what came of it.
struct TopWish {
  enum class Deed { kCancel, kExplain } deed = Deed::kExplain;
  std::uint64_t job = 0;
};
struct TopAnswer {
  TopWish wish;
  bool ok = true;
  std::string text;  // lines
};

class TopFeed {
 public:
  static constexpr std::chrono::milliseconds kBetweenLooks{500};  // at least
  static constexpr std::size_t kMostJobs = 1'000;                 // that are fetched

  TopFeed(DaemonOptions daemon, std::chrono::milliseconds every);
  ~TopFeed();
  TopFeed(const TopFeed&) = delete;
  TopFeed& operator=(const TopFeed&) = delete;
  TopFeed(TopFeed&&) = delete;
  TopFeed& operator=(TopFeed&&) = delete;

  // Readable when there is news; take() makes it quiet.
  [[nodiscard]] int descriptor() const { return news_.get(); }
  struct News {
    std::shared_ptr<const TopPicture> picture;
    std::optional<TopAnswer> answer;
  };
  [[nodiscard]] News take();
  void ask(const TopWish& wish);

 private:
  void fetch_on();
  void listen_on();
  void tell();
  [[nodiscard]] Result<TopPicture> fetch();
  [[nodiscard]] Result<void> fetch_jobs(TopPicture& picture);
  [[nodiscard]] Result<std::vector<api::JobView>> jobs_at(const std::string& target);
  [[nodiscard]] Result<void> connect_again();
  [[nodiscard]] TopAnswer answer(const TopWish& wish);
  [[nodiscard]] bool pause(std::chrono::milliseconds time);

  DaemonOptions daemon_;
  std::chrono::milliseconds every_;
  files::Descriptor news_;
  EventStop stop_events_;

  std::mutex mutex_;
  std::condition_variable wake_;
  bool ending_ = false;
  bool rung_ = false;
  std::deque<TopWish> wishes_;
  std::shared_ptr<const TopPicture> picture_ = std::make_shared<TopPicture>();
  std::optional<TopAnswer> answer_;

  std::optional<http::Client> client_;  // of the thread that fetches
  std::thread fetcher_;
  std::thread listener_;
};

}  // namespace tangram::cli
