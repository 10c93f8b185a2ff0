// Models: the table of GPU models, each stored once as the text of a model file. Private to the
// store. A model is stored only if its text reads back as exactly the same model, because
// placements are stored as indices into it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "base/error.hpp"
#include "mig/model.hpp"
#include "store/query.hpp"

namespace tangram::store {

class Models {
 public:
  // Returns the ID of the model's row, inserting it if necessary.
  [[nodiscard]] Result<std::int64_t> row_of(Statements& statements,
                                            const std::shared_ptr<const mig::Model>& model);
  [[nodiscard]] Result<std::shared_ptr<const mig::Model>> read(Statements& statements,
                                                               std::int64_t row);
  // Call after a rollback: rows inserted by that transaction no longer exist.
  void clear_cache() {
    rows_.clear();
    models_.clear();
  }

 private:
  std::map<std::shared_ptr<const mig::Model>, std::int64_t> rows_;
  std::map<std::int64_t, std::shared_ptr<const mig::Model>> models_;
};

}  // namespace tangram::store
