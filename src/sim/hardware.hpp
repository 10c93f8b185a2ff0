// Hardware: the speeds of GPU models: memory, FLOPS, multiprocessors, PCIe, from the vendor's data
// sheets; the throughput of a link is measured for PCIe 4 and assumed to be twice that for PCIe 5.
// Only values that a knob can override.
#pragma once

#include <string_view>

#include "mig/model.hpp"
#include "sim/knobs.hpp"

namespace tangram::sim {

struct Hardware {
  std::string_view model;  // of the catalog
  double hbm_gbps;
  double tflops;  // fp16, dense
  double multiprocessors;
  double link_gbps;
};

// Null for a model whose figures are not known.
[[nodiscard]] const Hardware* find_hardware(const mig::Model& model);

// The knobs with the speeds of this model, or of the A100 40GB if they are not known.
[[nodiscard]] Knobs knobs_for(const mig::Model& model);

}  // namespace tangram::sim
