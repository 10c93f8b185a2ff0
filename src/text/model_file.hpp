// The model file: a GPU model in TOML, for GPUs that the catalog does not have. The format is
// documented in docs/model-file.md. Errors have the form
// `file:line:column: what is wrong; what is allowed`.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "mig/model.hpp"

namespace tangram::text {

// Parses a model. `file_name` is used in messages only.
[[nodiscard]] Result<mig::Model> read_model(std::string_view toml, std::string_view file_name);

// As read_model(), but returns the specification, which mig::Model::build() accepts.
[[nodiscard]] Result<mig::ModelSpec> parse_model(std::string_view toml, std::string_view file_name);

// Reads a model from a regular file of at most 1 MiB.
[[nodiscard]] Result<mig::Model> load_model(const std::string& path);

// Returns the text of a model file that parse_model() reads back as the same specification, if the
// specification is valid for a model file (all of the catalog are).
[[nodiscard]] std::string to_toml(const mig::ModelSpec& spec);

}  // namespace tangram::text
