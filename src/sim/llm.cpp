// See llm.hpp.
#include "sim/llm.hpp"

#include <algorithm>

namespace tangram::sim {
namespace {

constexpr LanguageModel kModels[] = {
    {"opt-6.7b", 32, 4096, 6'658'473'984.0},
    {"opt-13b", 40, 5120, 12'853'473'280.0},
    {"bloom-1b7", 24, 2048, 1'722'408'960.0},
    {"bloom-7b1", 30, 4096, 7'069'016'064.0},
};

constexpr double kGiga = 1e9;
constexpr double kMib = 1024.0 * 1024.0;
constexpr double kGib = 1024.0 * kMib;

// The memory of a slice; its share of the whole if the catalog does not know it.
double memory_bytes(const mig::Model& gpu, const mig::Profile& p) {
  if (p.facts.memory_mib > 0) return p.facts.memory_mib * kMib;
  int whole = 0;
  for (const mig::Profile& other : gpu.profiles()) whole = std::max(whole, other.facts.memory_mib);
  constexpr int kDefaultMib = 40 * 1024;
  if (whole <= 0) whole = kDefaultMib;
  return whole * kMib * p.memory_slices / gpu.memory_slices();
}

// The slice's share of the GPU's multiprocessors.
double multiprocessors(const mig::Model& gpu, const mig::Profile& p, const Knobs& knobs) {
  if (p.facts.multiprocessors > 0) return p.facts.multiprocessors / knobs.multiprocessors;
  return static_cast<double>(p.compute_slices) / gpu.compute_slices();
}

}  // namespace

std::span<const LanguageModel> language_models() { return kModels; }

Pass pass_of(const LanguageModel& model, const mig::Model& gpu, mig::ProfileIndex profile,
             const Knobs& knobs) {
  const mig::Profile& p = gpu.profile(profile);
  const double weights = model.parameters * knobs.bytes_per_weight;
  const double kv = 2.0 * model.layers * model.hidden * knobs.bytes_per_weight * knobs.kv_tokens;
  const double usable = memory_bytes(gpu, p) - knobs.reserve_gib * kGib - kv;
  const double resident = std::clamp(usable, 0.0, weights);
  const double share = static_cast<double>(p.memory_slices) / gpu.memory_slices();
  const double bandwidth = knobs.hbm_gbps * kGiga * share * knobs.hbm_efficiency;
  const double flops =
      knobs.tflops * 1e12 * multiprocessors(gpu, p, knobs) * knobs.flops_efficiency;
  return {.transfer_gb = (weights - resident) / kGiga,
          .decode_s = (resident + (weights - resident) * knobs.hbm_streamed) / bandwidth,
          .prefill_s_per_token = 2.0 * model.parameters / flops,
          .load_s = weights / kGiga / knobs.load_gbps};
}

}  // namespace tangram::sim
