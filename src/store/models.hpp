// Models: the GPU models of a store, each kept once, as the text of a model file. Private to the
// store. One rule: a model gets a row only if its text gives back exactly that model, because
// placements are stored as numbers of it.
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
  // The row of the model; made if there is none.
  [[nodiscard]] Result<std::int64_t> row_of(Statements& statements,
                                            const std::shared_ptr<const mig::Model>& model);
  [[nodiscard]] Result<std::shared_ptr<const mig::Model>> read(Statements& statements,
                                                               std::int64_t row);
  // After a transaction that was taken back: rows made in it are gone.
  void forget() {
    rows_.clear();
    models_.clear();
  }

 private:
  std::map<std::shared_ptr<const mig::Model>, std::int64_t> rows_;
  std::map<std::int64_t, std::shared_ptr<const mig::Model>> models_;
};

}  // namespace tangram::store
