// Freezer: holds all processes of a run where they are, and lets them go on. With a cgroup the
// kernel does it; without, SIGSTOP goes round until a look at all of them finds none running. One
// rule: "frozen" is answered only when nothing of the run runs, and only a thaw ends it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shim/control.hpp"
#include "shim/probe.hpp"
#include "shim/processes.hpp"

namespace tangram::shim {

class Freezer {
 public:
  // `mark` outlives it.
  Freezer(const RunMark& mark, Answer answer) : mark_(mark), answer_(std::move(answer)) {}

  void ask(ClientId client, std::int64_t id, bool frozen);
  [[nodiscard]] bool is_wanted() const { return frozen_; }

  [[nodiscard]] std::optional<Moment> deadline() const;
  void on_time(Moment now);

 private:
  struct Asked {
    ClientId client;
    std::int64_t id;
  };

  Result<void> push();
  [[nodiscard]] bool is_done() const;
  void step(Moment now);
  void conclude(bool ok, const std::string& detail);

  const RunMark& mark_;
  Answer answer_;
  bool frozen_ = false;
  std::vector<Asked> asked_;
  Moment give_up_{};
  Moment next_{};
};

}  // namespace tangram::shim
