// The catalog: the built-in GPU models, for the simulator, the emulator and the geometry tools; on
// real hardware the model is read from NVML and only compared with this. Unconfirmed facts are left
// unknown or their model marked inferred, never invented.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "mig/model.hpp"

namespace tangram::mig {

// All built-in models, in a stable order; built on first use.
[[nodiscard]] const std::vector<Model>& catalog();

// By name ("A100-40GB", any case) or by the driver's device name ("NVIDIA A100-SXM4-40GB").
[[nodiscard]] Result<const Model*> find_model(std::string_view name);

// The specifications behind catalog(), as the tables give them.
[[nodiscard]] std::vector<ModelSpec> catalog_specs();

}  // namespace tangram::mig
