// Contention: how jobs on one GPU slow each other down over its PCIe link. A job alternates between
// computing (c seconds a pass) and fetching (o gigabytes a pass); the link is shared equally by the
// streams that are fetching, each with a cap. How often the neighbours are fetching depends on how
// long they must fetch, so the pass times are a fixed point:
//     rate_i = min(cap, link / (1 + sum over j != i of busy_j)),  busy_j = fetch time of j / pass
//     of j
// (mean value analysis of a processor-sharing server, after Schweitzer and Bard). For n equal
// streams the pass lies between max(alone, n·o/link) and c + o / min(cap, link/n), as it must. Pure
// functions without state.
#pragma once

#include <cstddef>
#include <span>

#include "mig/profile.hpp"
#include "sim/knobs.hpp"

namespace tangram::sim {

// At most one stream per instance.
inline constexpr std::size_t kMaxStreams = mig::kMaxMemorySlices;

// The demand of one job per pass; transfer 0 for a job that fits in memory.
struct Stream {
  double transfer_gb = 0;
  double compute_s = 0;
};

// Computes the seconds per pass of each stream when all of them run on one GPU.
void pass_times(std::span<const Stream> streams, const Knobs& knobs, std::span<double> seconds);

}  // namespace tangram::sim
