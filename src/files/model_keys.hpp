// The keys of a model file that reader and writer must agree on. Private to the model file.
#pragma once

#include <string_view>

#include "files/toml_table.hpp"
#include "mig/profile.hpp"

namespace tangram::files {

// An optional key of [[profile]] that is a fact about the hardware.
struct FactKey {
  std::string_view name;
  int mig::ProfileFacts::* fact;
  Range range;
};

inline constexpr int kMostMemoryMib = 16 * 1024 * 1024;
inline constexpr FactKey kFactKeys[] = {
    {"memory_mib", &mig::ProfileFacts::memory_mib, {1, kMostMemoryMib}},
    {"nvml_enum", &mig::ProfileFacts::nvml_enum, {0, 65'535}},
    {"nvml_id", &mig::ProfileFacts::nvml_id, {0, 65'535}},
    {"multiprocessors", &mig::ProfileFacts::multiprocessors, {1, 65'535}},
    {"copy_engines", &mig::ProfileFacts::copy_engines, {0, 255}},
    {"decoders", &mig::ProfileFacts::decoders, {0, 255}},
    {"encoders", &mig::ProfileFacts::encoders, {0, 255}},
    {"jpeg", &mig::ProfileFacts::jpeg, {0, 255}},
    {"ofa", &mig::ProfileFacts::ofa, {0, 255}},
};

// What max_instances is where the file does not say: one of those with shared media engines,
// else one per start.
[[nodiscard]] int default_max_instances(const mig::Profile& profile);

}  // namespace tangram::files
