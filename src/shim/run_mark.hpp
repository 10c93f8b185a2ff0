// RunMark: how the processes of a run are recognized: by its cgroup, as descendants of its shim,
// and by TANGRAM_RUN in their environment. The value of TANGRAM_RUN, the tag, is random and known
// to the run, its shim and the daemon only. It counts only for processes of the run's user, so a
// copy of it does not make a process of another user part of the run.
#pragma once

#include <string>
#include <sys/types.h>
#include <unistd.h>

#include "api/run_spec.hpp"
#include "base/error.hpp"

namespace tangram::shim {

// Any one mark is sufficient; empty marks are not used.
struct RunMark {
  std::string tag{};        // the value of TANGRAM_RUN
  uid_t uid = ::geteuid();  // the effective user of processes that the tag marks
  std::string cgroup{};     // its cgroup, including those below
  pid_t shim = 0;           // its live subreaper, whose descendants are all the run's; 0: none
};

// A new tag: 128 random bits in hexadecimal. An error if the kernel provides none.
[[nodiscard]] Result<std::string> make_tag();

// The user whose processes the run's are, if a shim with the rights of this process starts it.
[[nodiscard]] uid_t user_of(const api::RunSpec& spec);

// The mark of the run in `folder` whose shim is gone, from the files spec.json and started.
// kNotFound or kInvalid: they are missing or damaged. Other errors: they could not be read now.
[[nodiscard]] Result<RunMark> read_mark(const std::string& folder);

}  // namespace tangram::shim
