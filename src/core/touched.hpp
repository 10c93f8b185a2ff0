// Touched: which jobs and GPUs have changed since the last query, so that a copy of the state can
// be updated without comparing all of it. May contain unchanged ones, never misses one; costs one
// check of a flag until it is turned on.
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

  // Since the last query, in the order they were touched; may include finished jobs.
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
