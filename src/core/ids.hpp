// The ids of the core. Job ids are given by the body; instances and runs are numbered by the
// scheduler, so that a late answer about an old one is recognised and dropped.
#pragma once

#include <cstdint>

#include "base/id.hpp"

namespace tangram::core {

using GpuId = Id<struct GpuIdTag>;                    // index of the GPU in its node, from 0
using JobId = Id<struct JobIdTag, std::uint64_t>;     // chosen by the body
using InstanceId = Id<struct InstanceIdTag>;          // one GPU instance, never reused
using RunId = Id<struct RunIdTag>;                    // one replica of a job: one StartJob
using ModelId = Id<struct ModelIdTag, std::uint8_t>;  // a GPU model of this node
using ProfileName = Id<struct ProfileNameTag, std::uint16_t>;  // an interned profile name
using JobSlot = Id<struct JobSlotTag>;  // where the core keeps a job's record

inline constexpr JobSlot kNoJob{0xFFFFFFFFU};
inline constexpr InstanceId kNoInstance{0};
inline constexpr RunId kNoRun{0};

}  // namespace tangram::core
