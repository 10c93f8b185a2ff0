// What the `tangram mig` verbs share: parsing models and placements of the command line, and the
// text and JSON forms of geometry.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/value.hpp>

#include "base/error.hpp"
#include "mig/layout.hpp"
#include "mig/model.hpp"

namespace tangram::cli {

inline constexpr const char* kModelHelp =
    "Model name (see `tangram mig models`) or path of a model file (with a '/' or ending in "
    ".toml)";

using ModelPointer = std::shared_ptr<const mig::Model>;

// A model of the catalog by name, or a model file by path.
[[nodiscard]] Result<ModelPointer> model_named(const std::string& name);

// Parses arguments like "2g.10gb@4" into a layout.
[[nodiscard]] Result<mig::Layout> layout_of(const mig::Model& model,
                                            const std::vector<std::string>& arguments);

// All profiles of the model, in its order.
[[nodiscard]] std::vector<mig::ProfileIndex> all_profiles(const mig::Model& model);
[[nodiscard]] std::vector<mig::ProfileIndex> profiles_of(
    std::span<const mig::Placement> placements);
[[nodiscard]] std::vector<int> starts_in(mig::SliceMask mask);

// An upper bound of the number of layouts that for_each_layout() enumerates (exact without instance
// limits), to reject model files with too many.
[[nodiscard]] double layouts_at_most(const mig::Model& model,
                                     std::span<const mig::ProfileIndex> profiles);

// "0-6", "0 2 4", "-" for none.
[[nodiscard]] std::string starts_text(std::vector<int> starts);
// "7/24 (0.2917)"
[[nodiscard]] std::string cost_text(mig::FragCost cost);
// "2g.10gb@4 1g.5gb@6", "(empty)" for none.
[[nodiscard]] std::string layout_text(const mig::Model& model,
                                      std::span<const mig::Placement> placements);
// A geometry as all profiles that have it, e.g. "1g.5gb +me".
[[nodiscard]] std::string geometry_text(const mig::Model& model, mig::ProfileIndex representative);
// "" for 1, "s" for others.
[[nodiscard]] std::string_view plural(int count);

// {"profile": …, "start": …}
[[nodiscard]] boost::json::value placement_json(const mig::Model& model, mig::Placement placement);
[[nodiscard]] boost::json::value layout_json(const mig::Model& model,
                                             std::span<const mig::Placement> placements);
[[nodiscard]] boost::json::value starts_json(const std::vector<int>& starts);
// Adds "cost": "7/24" and "cost_decimal": 0.2917.
void add_cost(boost::json::object& object, mig::FragCost cost);

}  // namespace tangram::cli
