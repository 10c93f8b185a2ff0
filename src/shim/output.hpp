// Output: the pipe from one stream of a job to its log. It is read as soon as it has data, even if
// the log cannot take the bytes, so the job never blocks on it.
#pragma once

#include <cstdint>
#include <string>

#include "api/run_spec.hpp"
#include "base/error.hpp"
#include "os/descriptor.hpp"
#include "shim/file_copy.hpp"
#include "shim/poll_set.hpp"
#include "shim/rotating_log.hpp"

namespace tangram::shim {

class Output {
 public:
  // `name`: of the log file. `folder` must stay open.
  Output(int folder, const char* name, const api::RunSpec& spec);

  // Creates the pipe and returns the job's end. The caller passes it to the job and then calls
  // close_write().
  [[nodiscard]] Result<int> open_write(const api::RunSpec& spec);
  void close_write() { write_ = os::Descriptor(-1); }

  // Copies the stream to the file, too. Called before open_write(); the copy must outlive this.
  void copy_to(FileCopy& copy) { copy_ = &copy; }

  void watch(PollSet& polls);
  // Reads what is in the pipe now and closes it; a process outside the run may still be writing.
  void finish();
  // Bytes that the log could not take and does not mention.
  [[nodiscard]] std::uint64_t lost() const { return log_.lost(); }

 private:
  // At most `most` bytes; false at the end of the stream or when nothing is there.
  bool pump(std::size_t most);

  os::Descriptor read_{-1};
  os::Descriptor write_{-1};
  RotatingLog log_;
  FileCopy* copy_ = nullptr;
};

}  // namespace tangram::shim
