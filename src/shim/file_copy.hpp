// FileCopy: the copy of a run's output in a file of its user (--output, --error). The writing is
// done by a process of its own (copy_process.hpp). While that is slower than the job, the job waits
// for it; when the file has taken nothing for kStallTime, output is no longer copied until it takes
// some again, so that a file system that hangs stops neither the job nor its log. What was not
// copied is counted, and noted in the file if that is possible.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "api/run_spec.hpp"
#include "base/error.hpp"
#include "shim/copy_process.hpp"
#include "shim/poll_set.hpp"
#include "shim/start.hpp"
#include "shim/system.hpp"

namespace tangram::shim {

class FileCopy {
 public:
  static constexpr std::chrono::seconds kStallTime{10};

  // `spec` must outlive it. `on_opened`: called once, when the file is open or cannot be opened.
  FileCopy(const api::RunSpec& spec, std::string path, std::function<void()> on_opened)
      : spec_(spec), path_(std::move(path)), on_opened_(std::move(on_opened)) {}

  [[nodiscard]] Result<void> start();
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] bool is_open() const { return phase_ == Phase::kOpen; }
  // Why the file could not be opened.
  [[nodiscard]] const std::optional<StartFailure>& failure() const { return failure_; }

  void write(std::string_view text);
  // Whether no more output should be read until some of it was copied.
  [[nodiscard]] bool is_behind() const { return !pending_.empty() && !is_stalled_; }

  void watch(PollSet& polls);
  [[nodiscard]] std::optional<Moment> deadline() const;
  void on_deadline(Moment now);

  // Waits, at most for kStallTime, until everything is in the file; then ends the process.
  void finish();
  // What is missing in the file and why; empty: nothing.
  [[nodiscard]] std::string problem() const;

 private:
  enum class Phase : std::uint8_t { kOpening, kOpen, kEnded };

  void read_status();
  void on_status(const CopyStatus& status);
  void flush();
  [[nodiscard]] bool write_note();
  void drop(std::size_t bytes, std::string why);
  void await_end(Moment until);
  void end_process();

  const api::RunSpec& spec_;
  std::string path_;
  std::function<void()> on_opened_;
  HelperProcess process_;
  os::Descriptor handle_{-1};  // of the process, a pidfd
  Phase phase_ = Phase::kOpening;
  std::optional<StartFailure> failure_;
  std::string pending_;  // not taken by the pipe yet
  Moment stall_at_{};    // valid while something is pending
  bool is_stalled_ = false;
  std::uint64_t lost_ = 0;
  std::uint64_t noted_ = 0;  // part of lost_ that the file mentions
  std::string why_lost_;
};

}  // namespace tangram::shim
