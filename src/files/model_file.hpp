// The model file: a GPU model as people write it down (TOML), for GPUs that the catalog does not
// have. The format is documented in docs/model-file.md. One rule: whatever is wrong with a file is
// said as `file:line:column: what is wrong; what is allowed`.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "mig/model.hpp"

namespace tangram::files {

// The model that the text describes; `file_name` is for messages only.
[[nodiscard]] Result<mig::Model> read_model(std::string_view toml, std::string_view file_name);

// The same as a specification: one that mig::Model::build accepts.
[[nodiscard]] Result<mig::ModelSpec> parse_model(std::string_view toml, std::string_view file_name);

// From a regular file of at most 1 MiB.
[[nodiscard]] Result<mig::Model> load_model(const std::string& path);

// The text of a model file; parse_model() of it gives back the same specification, provided that
// it is one parse_model() can give (the catalog's all are).
[[nodiscard]] std::string to_toml(const mig::ModelSpec& spec);

}  // namespace tangram::files
