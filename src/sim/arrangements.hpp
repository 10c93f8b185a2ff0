// Arrangements: every way to distribute a given multiset of instances over GPUs of one model, for
// static partitioning (§V-C: the same instances, only their locations differ). The order of the
// GPUs matters, because first fit follows it; the starts within a GPU do not, so one legal layout
// per content is used. Returns all, or an error that says why there are none.
#pragma once

#include <cstdint>
#include <vector>

#include "base/error.hpp"
#include "mig/model.hpp"
#include "sim/workload.hpp"

namespace tangram::sim {

using Arrangement = std::vector<std::vector<mig::Placement>>;  // a layout per GPU

[[nodiscard]] Result<std::vector<Arrangement>> arrangements(const mig::Model& model,
                                                            const std::vector<Share>& multiset,
                                                            std::uint32_t gpus);

}  // namespace tangram::sim
