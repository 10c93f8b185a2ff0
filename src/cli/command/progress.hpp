// ProgressBar: a bar with the remaining time on standard error, drawn by its own thread. The work
// it reports on never waits for it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace tangram::cli {

struct ProgressState {
  std::string label;
  std::uint64_t done = 0;
  std::uint64_t total = 0;  // 0: unknown
};

// "label  [######----]  62 %  1,240 of 2,000  8 s left". At most `columns` wide.
[[nodiscard]] std::string progress_line(const ProgressState& state, double seconds, int columns);

class ProgressBar {
 public:
  // Calls `state` five times a second on its own thread until destroyed. Draws only if standard
  // error is a terminal.
  explicit ProgressBar(std::function<ProgressState()> state);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ProgressBar(ProgressBar&&) = delete;
  ProgressBar& operator=(ProgressBar&&) = delete;

 private:
  void draw();

  std::function<ProgressState()> state_;
  std::mutex mutex_;
  std::condition_variable stop_;
  bool stopping_ = false;
  std::jthread thread_;
};

}  // namespace tangram::cli
