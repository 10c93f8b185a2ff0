// CommandProbe: runs the command that checks whether a job is ready, as the job's user, in its
// environment, directory and cgroup. One command runs at a time; all requests that arrive while it
// runs get its result.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "api/run_spec.hpp"
#include "shim/control.hpp"
#include "shim/poll_set.hpp"
#include "shim/start.hpp"

namespace tangram::shim {

// Sends the response to request `id` of a client. `detail`: for people.
using ResponseCallback =
    std::function<void(ClientId, std::int64_t id, bool ok, const std::string& detail)>;

class CommandProbe {
 public:
  // `session`: of the run's processes, null if there is none. Both must outlive it.
  CommandProbe(const api::RunSpec& spec, const SessionAttributes* session, ResponseCallback respond)
      : spec_(spec), session_(session), respond_(std::move(respond)) {}

  // Starts the command unless it is running; responds when it has ended.
  void request(ClientId client, std::int64_t id);
  // Responds at once that the probe cannot run now.
  void refuse(ClientId client, std::int64_t id, const std::string& why_not) const;

  [[nodiscard]] bool has_pid(pid_t pid) const { return child_ && child_->pid == pid; }
  // The probe's process was reaped.
  void on_exit(int status);

  void watch(PollSet& polls);
  [[nodiscard]] std::optional<Moment> deadline() const;
  void on_deadline(Moment now);

 private:
  struct Requester {
    ClientId client;
    std::int64_t id;
  };

  void start_probe();
  void read_output();
  [[nodiscard]] Launch launch(int out) const;
  [[nodiscard]] std::string last_line() const;
  void respond_all(bool ok, const std::string& detail);

  const api::RunSpec& spec_;
  const SessionAttributes* session_;
  ResponseCallback respond_;
  std::vector<Requester> requesters_;
  std::optional<Child> child_;
  os::Descriptor output_{-1};
  std::string tail_;  // of its output
  Moment deadline_{};
  bool timed_out_ = false;
};

}  // namespace tangram::shim
