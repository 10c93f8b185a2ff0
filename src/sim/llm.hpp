// Language models as jobs: how much of one fits on a slice, what each pass fetches over PCIe, and
// how long a pass computes. First principles only; the inputs are public facts about four models
// and the GPU, the assumptions are knobs. About one job alone; see contention.hpp for neighbours.
#pragma once

#include <span>
#include <string_view>

#include "mig/model.hpp"
#include "sim/knobs.hpp"

namespace tangram::sim {

struct LanguageModel {
  std::string_view name;
  int layers;
  int hidden;
  double parameters;
};

// The paper's models: opt-6.7b, opt-13b, bloom-1b7, bloom-7b1 (§V-A).
[[nodiscard]] std::span<const LanguageModel> language_models();

// One forward pass of a model on a slice: a decode step of one token, or a prefill. Seconds and
// gigabytes.
struct Pass {
  double transfer_gb = 0;  // weights that do not fit and come over the link in every pass
  double decode_s = 0;     // computing time of a decode step
  double prefill_s_per_token = 0;
  double load_s = 0;  // from disk, when a replica starts
};

[[nodiscard]] Pass pass_of(const LanguageModel& model, const mig::Model& gpu,
                           mig::ProfileIndex profile, const Knobs& knobs);

}  // namespace tangram::sim
