// The orders of the waiting jobs. `fcfs` is the paper's (§IV-C step 5); the other two belong to
// baselines. Under these three only the first job may start. `fcfs-pools` has the order of `fcfs`,
// and a first job per GPU model: see core::Passing.
#pragma once

#include <tuple>

#include "core/policy.hpp"

namespace tangram::policies {

inline bool fcfs_before(const core::Waiting& a, const core::Waiting& b) {
  return a.order < b.order;
}

// owp-style: by memory, then compute, descending.
inline bool largest_memory_before(const core::Waiting& a, const core::Waiting& b) {
  return std::tuple(-a.memory_slices, -a.compute_slices, a.order) <
         std::tuple(-b.memory_slices, -b.compute_slices, b.order);
}

// elasticbatch-style: the largest profile first, by compute, then memory.
inline bool largest_profile_before(const core::Waiting& a, const core::Waiting& b) {
  return std::tuple(-a.compute_slices, -a.memory_slices, a.order) <
         std::tuple(-b.compute_slices, -b.memory_slices, b.order);
}

}  // namespace tangram::policies
