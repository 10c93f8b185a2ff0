// The parts of a saved scheduler as JSON lines for the tables. GPU models are not included: a GPU's
// row refers to the table of models, and placements are indices into that model. Reading returns
// exactly what was written; any other input is an error.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "core/saved.hpp"

namespace tangram::store {

inline constexpr int kSavedVersion = 1;

[[nodiscard]] std::string saved_json(const core::SavedJob& job);
[[nodiscard]] std::string saved_json(const core::SavedGpu& gpu);  // without its model
[[nodiscard]] std::string saved_json(const core::SavedRest& rest);

[[nodiscard]] Result<core::SavedJob> read_saved_job(std::string_view text);
[[nodiscard]] Result<core::SavedGpu> read_saved_gpu(std::string_view text);
[[nodiscard]] Result<core::SavedRest> read_saved_rest(std::string_view text);

}  // namespace tangram::store
