// Touched: which jobs and GPUs have changed since somebody last asked, so that who keeps a copy of
// the state need not compare all of it. One rule: too many are noted rather than too few, and until
// it is turned on it costs one look at a flag.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/ids.hpp"

namespace tangram::core {

class Touched {
 public:
  [[nodiscard]] bool on() const { return on_; }
  void turn_on() { on_ = true; }

  void add(JobSlot job) { jobs_.add(job.value()); }
  void add(GpuId gpu) { gpus_.add(gpu.value()); }
  void add_gone(JobId job) { gone_.push_back(job); }

  // Since the last time, in the order they were touched; jobs that are over may be among them.
  [[nodiscard]] std::vector<std::uint32_t> take_jobs() { return jobs_.take(); }
  [[nodiscard]] std::vector<std::uint32_t> take_gpus() { return gpus_.take(); }
  [[nodiscard]] std::vector<JobId> take_gone() { return std::exchange(gone_, {}); }

 private:
  // Each number once.
  class Marks {
   public:
    void add(std::uint32_t i) {
      if (marked_.size() <= i) marked_.resize(std::size_t{i} + 1);
      if (marked_[i]) return;
      marked_[i] = true;
      list_.push_back(i);
    }
    [[nodiscard]] std::vector<std::uint32_t> take() {
      for (const std::uint32_t i : list_) marked_[i] = false;
      return std::exchange(list_, {});
    }

   private:
    std::vector<bool> marked_;
    std::vector<std::uint32_t> list_;
  };

  bool on_ = false;
  Marks jobs_;
  Marks gpus_;
  std::vector<JobId> gone_;
};

}  // namespace tangram::core
