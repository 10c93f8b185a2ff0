// Ampere: A30 and A100. Placements as nvidia-smi mig -lgipp lists them on the hardware.
// One row per profile: compute slices, memory slices, starts, most instances, then the facts:
// MiB, NVML enum and id, multiprocessors, engines (copy, decode, encode, JPEG, OFA); kU is unknown.
#include "mig/catalog_tables.hpp"

namespace tangram::mig {
namespace {

// clang-format off
constexpr ProfileRow kA3024GB[] = {
    {"1g.6gb",          1,  1, kEverySlice4, 4, {5952, 0, 14, 14, 1, 1, 0, 0, 0}},
    {"1g.6gb+me",       1,  1, kEverySlice4, 1, {5952, 7, 21, 14, 1, 1, 0, 1, 1}},
    {"2g.12gb",         2,  2, kHalves4,     2, {11968, 1, 5, 28, 2, 2, 0, 0, 0}},
    {"2g.12gb+me",      2,  2, kHalves4,     1, {11968, 8, 6, 28, 2, 2, 0, 1, 1}},
    {"4g.24gb",         4,  4, kWhole,       1, {24000, 3, 0, 56, 4, 4, 0, 1, 1}},
};
constexpr ProfileRow kA10040GB[] = {
    {"1g.5gb",          1,  1, kEverySlice7, 7, {4864, 0, 19, 14, 1, 0, 0, 0, 0}},
    {"1g.5gb+me",       1,  1, kEverySlice7, 1, {4864, 7, 20, 14, 1, 1, 0, 1, 1}},
    {"1g.10gb",         1,  2, kPairs4,      4, {9856, 9, 15, 14, 1, 1, 0, 0, 0}},
    {"2g.10gb",         2,  2, kPairs3,      3, {9856, 1, 14, 28, 2, 1, 0, 0, 0}},
    {"3g.20gb",         3,  4, kHalves8,     2, {19968, 2, 9, 42, 3, 2, 0, 0, 0}},
    {"4g.20gb",         4,  4, kWhole,       1, {19968, 3, 5, 56, 4, 2, 0, 0, 0}},
    {"7g.40gb",         7,  8, kWhole,       1, {40192, 4, 0, 98, 7, 5, 0, 1, 1}},
};
constexpr ProfileRow kA10080GB[] = {
    {"1g.10gb",         1,  1, kEverySlice7, 7, {9728, 0, 19, 14, 1, 0, 0, 0, 0}},
    {"1g.10gb+me",      1,  1, kEverySlice7, 1, {9728, 7, 20, 14, 1, 1, 0, 1, 1}},
    {"1g.20gb",         1,  2, kPairs4,      4, {19968, 9, 15, 14, 1, 1, 0, 0, 0}},
    {"2g.20gb",         2,  2, kPairs3,      3, {19968, 1, 14, 28, 2, 1, 0, 0, 0}},
    {"3g.40gb",         3,  4, kHalves8,     2, {40192, 2, 9, 42, 3, 2, 0, 0, 0}},
    {"4g.40gb",         4,  4, kWhole,       1, {40192, 3, 5, 56, 4, 2, 0, 0, 0}},
    {"7g.80gb",         7,  8, kWhole,       1, {80640, 4, 0, 98, 7, 5, 0, 1, 1}},
};
// clang-format on

}  // namespace

std::vector<ModelSpec> ampere_specs() {
  // clang-format off
  return {
      spec_from({"A30-24GB", 4, 4, false}, {"NVIDIA A30"}, kA3024GB),
      spec_from({"A100-40GB", 7, 8, false}, {"NVIDIA A100-SXM4-40GB", "NVIDIA A100-PCIE-40GB"}, kA10040GB),
      spec_from({"A100-80GB", 7, 8, false}, {"NVIDIA A100-SXM4-80GB", "NVIDIA A100 80GB PCIe"}, kA10080GB),
  };
  // clang-format on
}

}  // namespace tangram::mig
