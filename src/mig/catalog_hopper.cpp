// Hopper: H100, GH200, H200, H20. All share one geometry, the A100's; the inferred ones are marked.
// One row per profile: compute slices, memory slices, starts, most instances, then the facts:
// MiB, NVML enum and id, multiprocessors, engines (copy, decode, encode, JPEG, OFA); kU is unknown.
#include "mig/catalog_tables.hpp"

namespace tangram::mig {
namespace {

// clang-format off
constexpr ProfileRow kH10080GB[] = {
    {"1g.10gb",         1,  1, kEverySlice7, 7, {9984, 0, 19, 16, 1, 1, 0, 1, 0}},
    {"1g.10gb+me",      1,  1, kEverySlice7, 1, {9984, 7, 20, 16, 1, 1, 0, 1, 1}},
    {"1g.20gb",         1,  2, kPairs4,      4, {20096, 9, 15, 26, 1, 1, 0, 1, 0}},
    {"2g.20gb",         2,  2, kPairs3,      3, {20096, 1, 14, 32, 2, 2, 0, 2, 0}},
    {"3g.40gb",         3,  4, kHalves8,     2, {40448, 2, 9, 60, 3, 3, 0, 3, 0}},
    {"4g.40gb",         4,  4, kWhole,       1, {40448, 3, 5, 64, 4, 4, 0, 4, 0}},
    {"7g.80gb",         7,  8, kWhole,       1, {81152, 4, 0, 132, 8, 7, 0, 7, 1}},
};
constexpr ProfileRow kH100Pcie80GB[] = {
    {"1g.10gb",         1,  1, kEverySlice7, 7, {kU, 0, 19, kU, 1, 1, kU, 1, 0}},
    {"1g.10gb+me",      1,  1, kEverySlice7, 1, {kU, 7, 20, kU, 1, 1, kU, 1, 1}},
    {"1g.20gb",         1,  2, kPairs4,      4, {kU, 9, 15, kU, 1, 1, kU, 1, 0}},
    {"2g.20gb",         2,  2, kPairs3,      3, {kU, 1, 14, kU, 2, 2, kU, 2, 0}},
    {"3g.40gb",         3,  4, kHalves8,     2, {kU, 2, 9, kU, 3, 3, kU, 3, 0}},
    {"4g.40gb",         4,  4, kWhole,       1, {kU, 3, 5, kU, 4, 4, kU, 4, 0}},
    {"7g.80gb",         7,  8, kWhole,       1, {kU, 4, 0, 114, 8, 7, kU, 7, 1}},
};
constexpr ProfileRow kH100NVL94GB[] = {
    {"1g.12gb",         1,  1, kEverySlice7, 7, {11008, 0, 19, 16, 1, 1, 0, 1, 0}},
    {"1g.12gb+me",      1,  1, kEverySlice7, 1, {11008, 7, 20, 16, 1, 1, 0, 1, 1}},
    {"1g.24gb",         1,  2, kPairs4,      4, {22144, 9, 15, 26, 1, 1, 0, 1, 0}},
    {"2g.24gb",         2,  2, kPairs3,      3, {22144, 1, 14, 32, 2, 2, 0, 2, 0}},
    {"3g.47gb",         3,  4, kHalves8,     2, {47488, 2, 9, 60, 3, 3, 0, 3, 0}},
    {"4g.47gb",         4,  4, kWhole,       1, {47488, 3, 5, 64, 4, 4, 0, 4, 0}},
    {"7g.94gb",         7,  8, kWhole,       1, {95360, 4, 0, 132, 8, 7, 0, 7, 1}},
};
constexpr ProfileRow kGH20096GB[] = {
    {"1g.12gb",         1,  1, kEverySlice7, 7, {11264, 0, 19, 16, 1, 1, 0, 1, 0}},
    {"1g.12gb+me",      1,  1, kEverySlice7, 1, {11264, 7, 20, 16, 1, 1, 0, 1, 1}},
    {"1g.24gb",         1,  2, kPairs4,      4, {23552, 9, 15, 26, 1, 1, 0, 1, 0}},
    {"2g.24gb",         2,  2, kPairs3,      3, {23552, 1, 14, 32, 2, 2, 0, 2, 0}},
    {"3g.48gb",         3,  4, kHalves8,     2, {47616, 2, 9, 60, 3, 3, 0, 3, 0}},
    {"4g.48gb",         4,  4, kWhole,       1, {47616, 3, 5, 64, 4, 4, 0, 4, 0}},
    {"7g.96gb",         7,  8, kWhole,       1, {95232, 4, 0, 132, 8, 7, 0, 7, 1}},
};
constexpr ProfileRow kH200141GB[] = {
    {"1g.18gb",         1,  1, kEverySlice7, 7, {16384, 0, 19, 16, 1, 1, 0, 1, 0}},
    {"1g.18gb+me",      1,  1, kEverySlice7, 1, {16384, 7, 20, 16, 1, 1, 0, 1, 1}},
    {"1g.35gb",         1,  2, kPairs4,      4, {33024, 9, 15, 26, 1, 1, 0, 1, 0}},
    {"2g.35gb",         2,  2, kPairs3,      3, {33024, 1, 14, 32, 2, 2, 0, 2, 0}},
    {"3g.71gb",         3,  4, kHalves8,     2, {71168, 2, 9, 60, 3, 3, 0, 3, 0}},
    {"4g.71gb",         4,  4, kWhole,       1, {71168, 3, 5, 64, 4, 4, 0, 4, 0}},
    {"7g.141gb",        7,  8, kWhole,       1, {143104, 4, 0, 132, 8, 7, 0, 7, 1}},
};
constexpr ProfileRow kGH200144GB[] = {
    {"1g.18gb",         1,  1, kEverySlice7, 7, {17920, 0, 19, 16, 1, 1, 0, 1, 0}},
    {"1g.18gb+me",      1,  1, kEverySlice7, 1, {17920, 7, 20, 16, 1, 1, 0, 1, 1}},
    {"1g.36gb",         1,  2, kPairs4,      4, {36096, 9, 15, 26, 1, 1, 0, 1, 0}},
    {"2g.36gb",         2,  2, kPairs3,      3, {36096, 1, 14, 32, 2, 2, 0, 2, 0}},
    {"3g.72gb",         3,  4, kHalves8,     2, {kU, 2, kU, kU, kU, kU, kU, kU, kU}},
    {"4g.72gb",         4,  4, kWhole,       1, {kU, 3, kU, kU, kU, kU, kU, kU, kU}},
    {"7g.144gb",        7,  8, kWhole,       1, {kU, 4, kU, kU, kU, kU, kU, kU, kU}},
};
constexpr ProfileRow kH2096GB[] = {
    {"1g.12gb",         1,  1, kEverySlice7, 7, {kU, kU, kU, kU, kU, kU, kU, kU, kU}},
    {"1g.12gb+me",      1,  1, kEverySlice7, 1, {kU, kU, kU, kU, kU, kU, kU, kU, kU}},
    {"1g.24gb",         1,  2, kPairs4,      4, {kU, kU, kU, kU, kU, kU, kU, kU, kU}},
    {"2g.24gb",         2,  2, kPairs3,      3, {kU, kU, kU, kU, kU, kU, kU, kU, kU}},
    {"3g.48gb",         3,  4, kHalves8,     2, {kU, kU, kU, kU, kU, kU, kU, kU, kU}},
    {"4g.48gb",         4,  4, kWhole,       1, {kU, kU, kU, kU, kU, kU, kU, kU, kU}},
    {"7g.96gb",         7,  8, kWhole,       1, {kU, kU, kU, kU, kU, kU, kU, kU, kU}},
};
// clang-format on

}  // namespace

std::vector<ModelSpec> hopper_specs() {
  // clang-format off
  return {
      spec_from({"H100-80GB", 7, 8, false}, {"NVIDIA H100 80GB HBM3"}, kH10080GB),
      spec_from({"H100-PCIe-80GB", 7, 8, false}, {"NVIDIA H100 PCIe"}, kH100Pcie80GB),
      spec_from({"H100-NVL-94GB", 7, 8, false}, {"NVIDIA H100 NVL"}, kH100NVL94GB),
      spec_from({"GH200-96GB", 7, 8, false}, {}, kGH20096GB),
      spec_from({"H200-141GB", 7, 8, false}, {"NVIDIA H200"}, kH200141GB),
      spec_from({"GH200-144GB", 7, 8, true}, {}, kGH200144GB),
      spec_from({"H20-96GB", 7, 8, true}, {}, kH2096GB),
  };
  // clang-format on
}

}  // namespace tangram::mig
