// See contention.hpp.
#include "sim/contention.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.hpp"

namespace tangram::sim {
namespace {

double pass_time(const Stream& s, double compute_s, double rate, bool prefetch) {
  const double fetch = s.transfer_gb / rate;
  return prefetch ? std::max(fetch, compute_s) : fetch + compute_s;
}

}  // namespace

void pass_times(std::span<const Stream> streams, const Knobs& knobs, std::span<double> seconds) {
  CHECK(streams.size() <= kMaxStreams && streams.size() == seconds.size());
  const bool prefetch = knobs.prefetch > 0.5;
  const double alone = std::min(knobs.flow_gbps, knobs.link_gbps);
  const bool contended = knobs.contention > 0.5;
  const double neighbours = contended ? static_cast<double>(streams.size()) - 1 : 0;
  const double slower = 1 + knobs.tlb_penalty * std::max(0.0, neighbours);
  std::array<double, kMaxStreams> busy{};
  double all_busy = 0;
  for (std::size_t i = 0; i < streams.size(); ++i) {
    const Stream& s = streams[i];
    seconds[i] = pass_time(s, s.compute_s * slower, alone, prefetch);
    busy[i] = seconds[i] > 0 ? s.transfer_gb / alone / seconds[i] : 0;
    all_busy += busy[i];
  }
  if (!contended || all_busy == 0) return;
  constexpr int kMaxIterations = 60;
  constexpr double kCloseEnough = 1e-9;
  for (int round = 0; round < kMaxIterations; ++round) {
    double change = 0;
    for (std::size_t i = 0; i < streams.size(); ++i) {
      const Stream& s = streams[i];
      if (s.transfer_gb <= 0) continue;
      const double others = all_busy - busy[i];
      const double rate = std::min(knobs.flow_gbps, knobs.link_gbps / (1 + others));
      seconds[i] = pass_time(s, s.compute_s * slower, rate, prefetch);
      const double now = std::min(1.0, s.transfer_gb / rate / seconds[i]);
      change = std::max(change, std::abs(now - busy[i]));
      all_busy += now - busy[i];
      busy[i] = now;
    }
    if (change < kCloseEnough) return;
  }
}

}  // namespace tangram::sim
