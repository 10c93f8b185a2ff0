// See models.hpp.
#include "store/models.hpp"

#include "base/text.hpp"
#include "text/model_file.hpp"

namespace tangram::store {

Result<std::int64_t> Models::row_of(Statements& statements,
                                    const std::shared_ptr<const mig::Model>& model) {
  if (const auto known = rows_.find(model); known != rows_.end()) return known->second;
  const std::string toml = text::to_toml(model->spec());
  const auto again = text::parse_model(toml, model->name());
  if (!again || *again != model->spec()) {
    return failed(
        cat("the GPU model ", tangram::quoted(model->name()), " cannot be stored: ",
            again ? std::string("its text reads back differently") : again.error().message));
  }
  Query(statements.get("INSERT OR IGNORE INTO models (toml) VALUES (?)")).bind(toml).run();
  Query query(statements.get("SELECT id FROM models WHERE toml = ?"));
  if (!query.bind(toml).next()) return failed("a GPU model was inserted but cannot be found");
  return rows_[model] = query.column<std::int64_t>(0);
}

Result<std::shared_ptr<const mig::Model>> Models::read(Statements& statements, std::int64_t row) {
  if (const auto known = models_.find(row); known != models_.end()) return known->second;
  Query query(statements.get("SELECT toml FROM models WHERE id = ?"));
  if (!query.bind(row).next()) return failed(cat("GPU model ", row, ": not found"));
  auto model = text::read_model(query.column<std::string>(0), cat("model ", row));
  if (!model) return std::unexpected(model.error());
  return models_[row] = std::make_shared<const mig::Model>(*std::move(model));
}

}  // namespace tangram::store
