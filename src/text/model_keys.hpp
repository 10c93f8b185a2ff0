// Keys of a model file that parser and writer share. Private to the model file.
#pragma once

#include <string_view>

#include "mig/profile.hpp"
#include "text/toml_table.hpp"

namespace tangram::text {

// An optional key of [[profile]] with a property of the hardware.
struct FactKey {
  std::string_view name;
  int mig::ProfileFacts::* fact;
  Range range;
};

inline constexpr int kMaxMemoryMib = 16 * 1024 * 1024;
inline constexpr FactKey kFactKeys[] = {
    {"memory_mib", &mig::ProfileFacts::memory_mib, {1, kMaxMemoryMib}},
    {"nvml_enum", &mig::ProfileFacts::nvml_enum, {0, 65'535}},
    {"nvml_id", &mig::ProfileFacts::nvml_id, {0, 65'535}},
    {"multiprocessors", &mig::ProfileFacts::multiprocessors, {1, 65'535}},
    {"copy_engines", &mig::ProfileFacts::copy_engines, {0, 255}},
    {"decoders", &mig::ProfileFacts::decoders, {0, 255}},
    {"encoders", &mig::ProfileFacts::encoders, {0, 255}},
    {"jpeg", &mig::ProfileFacts::jpeg, {0, 255}},
    {"ofa", &mig::ProfileFacts::ofa, {0, 255}},
};

// The default of max_instances: one for profiles with shared media engines, else one per start.
[[nodiscard]] int default_max_instances(const mig::Profile& profile);

}  // namespace tangram::text
