// Blackwell: the data-centre GPUs have (as far as is known) the H100's geometry; the RTX PRO 6000
// counts its placements in 12 memory slices and has 4 compute slices.
// One row per profile: compute slices, memory slices, starts, most instances, then the facts:
// MiB, NVML enum and id, multiprocessors, engines (copy, decode, encode, JPEG, OFA); kU is unknown.
#include "mig/catalog_tables.hpp"

namespace tangram::mig {
namespace {

// clang-format off
constexpr ProfileRow kB200180GB[] = {
    {"1g.23gb",         1,  1, kEverySlice7, 7, {20992, 0, 19, 18, 2, 1, 0, 1, 0}},
    {"1g.23gb+me",      1,  1, kEverySlice7, 1, {20992, 7, 20, 18, 2, 1, 0, 1, 1}},
    {"1g.45gb",         1,  2, kPairs4,      4, {45312, 9, 15, 30, 2, 1, 0, 1, 0}},
    {"2g.45gb",         2,  2, kPairs3,      3, {45312, 1, 14, 36, 4, 2, 0, 2, 0}},
    {"3g.90gb",         3,  4, kHalves8,     2, {kU, 2, kU, kU, kU, kU, kU, kU, kU}},
    {"4g.90gb",         4,  4, kWhole,       1, {kU, 3, kU, kU, kU, kU, kU, kU, kU}},
    {"7g.180gb",        7,  8, kWhole,       1, {kU, 4, kU, kU, kU, kU, kU, kU, kU}},
};
constexpr ProfileRow kGB200186GB[] = {
    {"1g.23gb",         1,  1, kEverySlice7, 7, {22528, 0, 19, 18, 2, 1, 0, 1, 0}},
    {"1g.23gb+me",      1,  1, kEverySlice7, 1, {22528, 7, 20, 18, 2, 1, 0, 1, 1}},
    {"1g.47gb",         1,  2, kPairs4,      4, {46592, 9, 15, 32, 2, 1, 0, 1, 0}},
    {"2g.47gb",         2,  2, kPairs3,      3, {46592, 1, 14, 38, kU, 2, kU, kU, kU}},
    {"3g.93gb",         3,  4, kHalves8,     2, {kU, 2, kU, kU, kU, kU, kU, kU, kU}},
    {"4g.93gb",         4,  4, kWhole,       1, {kU, 3, kU, kU, kU, kU, kU, kU, kU}},
    {"7g.186gb",        7,  8, kWhole,       1, {kU, 4, kU, kU, kU, kU, kU, kU, kU}},
};
constexpr ProfileRow kB300269GB[] = {
    {"1g.34gb",         1,  1, kEverySlice7, 7, {kU, kU, kU, kU, kU, kU, kU, kU, kU}},
    {"1g.34gb+me",      1,  1, kEverySlice7, 1, {kU, kU, kU, kU, kU, kU, kU, kU, kU}},
    {"1g.67gb",         1,  2, kPairs4,      4, {kU, kU, kU, kU, kU, kU, kU, kU, kU}},
    {"2g.67gb",         2,  2, kPairs3,      3, {kU, kU, kU, kU, kU, kU, kU, kU, kU}},
    {"3g.135gb",        3,  4, kHalves8,     2, {kU, kU, kU, kU, kU, kU, kU, kU, kU}},
    {"4g.135gb",        4,  4, kWhole,       1, {kU, kU, kU, kU, kU, kU, kU, kU, kU}},
    {"7g.269gb",        7,  8, kWhole,       1, {kU, kU, kU, kU, kU, kU, kU, kU, kU}},
};
constexpr ProfileRow kGB300278GB[] = {
    {"1g.35gb",         1,  1, kEverySlice7, 7, {kU, kU, kU, kU, kU, kU, kU, kU, kU}},
    {"1g.35gb+me",      1,  1, kEverySlice7, 1, {kU, kU, kU, kU, kU, kU, kU, kU, kU}},
    {"1g.70gb",         1,  2, kPairs4,      4, {kU, kU, kU, kU, kU, kU, kU, kU, kU}},
    {"2g.70gb",         2,  2, kPairs3,      3, {kU, kU, kU, kU, kU, kU, kU, kU, kU}},
    {"3g.139gb",        3,  4, kHalves8,     2, {kU, kU, kU, kU, kU, kU, kU, kU, kU}},
    {"4g.139gb",        4,  4, kWhole,       1, {kU, kU, kU, kU, kU, kU, kU, kU, kU}},
    {"7g.278gb",        7,  8, kWhole,       1, {kU, kU, kU, kU, kU, kU, kU, kU, kU}},
};
constexpr ProfileRow kRTXPRO600096GB[] = {
    {"1g.24gb",         1,  3, kQuarters12,  4, {24192, 0, 14, 46, 1, 1, 1, 1, 0}},
    {"1g.24gb+me",      1,  3, kQuarters12,  1, {24192, 7, 21, 46, 1, 1, 1, 1, 1}},
    {"1g.24gb+gfx",     1,  3, kQuarters12,  4, {24192, 10, 47, 46, 1, 1, 1, 1, 0}},
    {"1g.24gb+me.all",  1,  3, kQuarters12,  1, {24192, 15, 65, 46, 1, 4, 4, 4, 1}},
    {"1g.24gb-me",      1,  3, kQuarters12,  4, {24192, 13, 67, 46, 1, 0, 0, 0, 0}},
    {"2g.48gb",         2,  6, kHalves12,    2, {48512, 1, 5, 94, 2, 2, 2, 2, 0}},
    {"2g.48gb+gfx",     2,  6, kHalves12,    2, {48512, 11, 35, 94, 2, 2, 2, 2, 0}},
    {"2g.48gb+me.all",  2,  6, kHalves12,    1, {48512, 16, 64, 94, 2, 4, 4, 4, 1}},
    {"2g.48gb-me",      2,  6, kHalves12,    2, {48512, 14, 66, 94, 2, 0, 0, 0, 0}},
    {"4g.96gb",         4, 12, kWhole,       1, {97408, 3, 0, 188, 4, 4, 4, 4, 1}},
    {"4g.96gb+gfx",     4, 12, kWhole,       1, {97408, 12, 32, 188, 4, 4, 4, 4, 1}},
};
// clang-format on

}  // namespace

std::vector<ModelSpec> blackwell_specs() {
  // clang-format off
  return {
      spec_from({"B200-180GB", 7, 8, true}, {"NVIDIA B200"}, kB200180GB),
      spec_from({"GB200-186GB", 7, 8, true}, {"NVIDIA GB200"}, kGB200186GB),
      spec_from({"B300-269GB", 7, 8, true}, {}, kB300269GB),
      spec_from({"GB300-278GB", 7, 8, true}, {"NVIDIA GB300"}, kGB300278GB),
      spec_from({"RTX-PRO-6000-96GB", 4, 12, false}, {"NVIDIA RTX PRO 6000 Blackwell Server Edition"}, kRTXPRO600096GB),
  };
  // clang-format on
}

}  // namespace tangram::mig
