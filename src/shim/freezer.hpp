// Freezer: freezes and thaws all processes of a run, by its cgroup or, without one, by sending
// SIGSTOP until no process is found running. A freeze is confirmed only when no process of the run
// runs, and stays in force until a thaw is requested. While the processes cannot be listed, it is
// neither confirmed nor failed, but tried again until its timeout.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shim/command_probe.hpp"
#include "shim/control.hpp"
#include "shim/processes.hpp"

namespace tangram::shim {

class Freezer {
 public:
  // `mark` must outlive this.
  Freezer(const RunMark& mark, ResponseCallback respond)
      : mark_(mark), respond_(std::move(respond)) {}

  // Freezes or thaws; responds when that is done, has failed or was superseded.
  void request(ClientId client, std::int64_t id, bool frozen);
  [[nodiscard]] bool is_freeze_requested() const { return frozen_; }

  [[nodiscard]] std::optional<Moment> deadline() const;
  void on_deadline(Moment now);

 private:
  struct Requester {
    ClientId client;
    std::int64_t id;
  };

  Result<void> apply();
  [[nodiscard]] bool is_done();
  void set_problem(const std::string& why);
  void step(Moment now);
  void respond_all(bool ok, const std::string& detail);

  const RunMark& mark_;
  ResponseCallback respond_;
  bool frozen_ = false;
  std::vector<Requester> requesters_;
  std::string problem_;    // why it is unknown which processes there are; empty: it is known
  bool is_noted_ = false;  // that there is one
  Moment timeout_at_{};
  Moment next_{};
};

}  // namespace tangram::shim
