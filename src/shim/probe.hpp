// Probe: the command that tells whether a job is ready, run beside it as its user, in its
// environment, directory and cgroup. One rule: one at a time; whoever asks while it runs gets the
// same answer.
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

// Answers a client that asked something under a number.
using Answer = std::function<void(ClientId, std::int64_t id, bool ok, const std::string& detail)>;

class Probe {
 public:
  Probe(const api::RunSpec& spec, Answer answer) : spec_(spec), answer_(std::move(answer)) {}

  void ask(ClientId client, std::int64_t id);
  // Answers at once that it is not asked now.
  void refuse(ClientId client, std::int64_t id, const std::string& why_not) const;

  [[nodiscard]] bool is(pid_t pid) const { return child_ && child_->pid == pid; }
  // Its process was reaped.
  void ended(int status);

  void watch(PollSet& polls);
  [[nodiscard]] std::optional<Moment> deadline() const;
  void on_time(Moment now);

 private:
  struct Asked {
    ClientId client;
    std::int64_t id;
  };

  void begin();
  void read_output();
  [[nodiscard]] Launch launch(int out) const;
  [[nodiscard]] std::string last_line() const;
  void conclude(bool ok, const std::string& detail);

  const api::RunSpec& spec_;
  Answer answer_;
  std::vector<Asked> asked_;
  std::optional<Child> child_;
  files::Descriptor output_{-1};
  std::string tail_;  // of its output
  Moment deadline_{};
  bool is_late_ = false;
};

}  // namespace tangram::shim
