// Output: the pipe between one stream of a job and its log. One rule: it is read as soon as there
// is something, whatever becomes of the bytes.
#pragma once

#include <string>

#include "api/run_spec.hpp"
#include "base/error.hpp"
#include "files/descriptor.hpp"
#include "shim/poll_set.hpp"
#include "shim/rotating_log.hpp"

namespace tangram::shim {

class Output {
 public:
  // `name` is that of the log; `folder` must stay open.
  Output(int folder, const char* name, const api::RunSpec& spec);

  // Makes the pipe and gives the job's end of it. The caller hands it to the job and then calls
  // close_write().
  [[nodiscard]] Result<int> open_write(const api::RunSpec& spec);
  void close_write() { write_ = files::Descriptor(-1); }

  void watch(PollSet& polls);
  // What is in the pipe now, but not what somebody outside the run goes on writing; then the end.
  void finish();

 private:
  // At most `most` bytes; false at the end of the stream or when nothing is there.
  bool pump(std::size_t most);

  files::Descriptor read_{-1};
  files::Descriptor write_{-1};
  RotatingLog log_;
};

}  // namespace tangram::shim
