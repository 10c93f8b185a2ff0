// See hardware.hpp.
#include "sim/hardware.hpp"

namespace tangram::sim {
namespace {

constexpr double kGen4 = 25.7;
constexpr double kGen5 = 51.4;

constexpr Hardware kHardwareTable[] = {
    {"A30-24GB", 933, 165, 56, kGen4},         {"A100-40GB", 1555.2, 312, 108, kGen4},
    {"A100-80GB", 2039, 312, 108, kGen4},      {"H100-80GB", 3352, 989, 132, kGen5},
    {"H100-PCIe-80GB", 2039, 756, 114, kGen5}, {"H100-NVL-94GB", 3938, 835, 132, kGen5},
    {"H200-141GB", 4800, 989, 132, kGen5},     {"RTX-PRO-6000-96GB", 1597, 504, 188, kGen5},
};

}  // namespace

const Hardware* find_hardware(const mig::Model& model) {
  for (const Hardware& row : kHardwareTable) {
    if (row.model == model.name()) return &row;
  }
  return nullptr;
}

Knobs knobs_for(const mig::Model& model) {
  Knobs knobs;
  const Hardware* hardware = find_hardware(model);
  if (hardware == nullptr) return knobs;
  knobs.hbm_gbps = hardware->hbm_gbps;
  knobs.tflops = hardware->tflops;
  knobs.multiprocessors = hardware->multiprocessors;
  knobs.link_gbps = hardware->link_gbps;
  knobs.flow_gbps = hardware->link_gbps;
  return knobs;
}

}  // namespace tangram::sim
