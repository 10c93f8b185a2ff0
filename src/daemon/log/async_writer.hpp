// AsyncWriter: writes lines to a descriptor on a thread of its own, so that a reader that stalls
// blocks that thread only. Lines that wait are bounded in bytes; while the limit is reached, new
// lines are dropped and counted, and a notice with their number is written in their place. All
// functions are thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace tangram::daemon {

class AsyncWriter {
 public:
  // Returns the line, with its newline, that reports `count` dropped lines. Called on the thread.
  using Notice = std::function<std::string(std::uint64_t count)>;

  // Writes to a duplicate of `descriptor`. `max_bytes`: limit of the lines that wait, including the
  // one being written; a single longer line is accepted when none waits.
  AsyncWriter(int descriptor, std::size_t max_bytes, Notice notice);
  // Drops the lines that wait. Does not wait for the thread, which may hang in write().
  ~AsyncWriter();
  AsyncWriter(const AsyncWriter&) = delete;
  AsyncWriter& operator=(const AsyncWriter&) = delete;
  AsyncWriter(AsyncWriter&&) = delete;
  AsyncWriter& operator=(AsyncWriter&&) = delete;

  // Queues a line, which includes its newline, or drops it. Never waits for the descriptor.
  void write(std::string line);
  // Waits until all lines and notices are written. False: not within `timeout`.
  [[nodiscard]] bool flush(std::chrono::milliseconds timeout);
  // Lines that were dropped or could not be written (e.g. EPIPE) since the start.
  [[nodiscard]] std::uint64_t dropped() const;

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared with the thread
};

}  // namespace tangram::daemon
