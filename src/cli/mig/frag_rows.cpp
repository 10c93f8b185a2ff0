// See frag_rows.hpp. Optimised for hundreds of thousands of rows per second: one parser and one
// memory block for all rows, and each model is looked up once.
#include "cli/mig/frag_rows.hpp"

#include <array>
#include <map>

#include <boost/json/array.hpp>
#include <boost/json/monotonic_resource.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parser.hpp>

#include "base/text.hpp"
#include "cli/command/json_rows.hpp"
#include "cli/mig/mig_terms.hpp"
#include "text/json_text.hpp"

namespace tangram::cli {
namespace {

namespace json = boost::json;

constexpr std::string_view kForm =
    R"(a row is {"model": "A100-40GB", "placements": [{"profile": "2g.10gb", "start": 4}]}.)";

class RowReader {
 public:
  // Appends the answer to one row. The error is the reason without the line.
  Result<void> answer(std::string_view row, std::string& out) {
    parser_.reset();  // drop the last row's values before releasing their memory
    memory_.release();
    parser_.reset(&memory_);
    json::error_code status;
    const std::size_t read = parser_.write_some(row.data(), row.size(), status);
    if (!status && !is_blank(row.substr(read))) {
      return invalid(cat("not one JSON value per line; ", kForm));
    }
    if (status) {
      return invalid(
          cat("not valid JSON at column ", read + 1, ": ", status.message(), "; ", kForm));
    }
    const json::value value = parser_.release();
    const json::object* object = value.if_object();
    if (object == nullptr) return invalid(cat("not a JSON object; ", kForm));
    return answer(*object, out);
  }

 private:
  Result<void> answer(const json::object& row, std::string& out) {
    const json::value* name = row.if_contains("model");
    if (name == nullptr || !name->is_string()) {
      return invalid(cat("\"model\" must be a string; ", kForm));
    }
    const Result<const mig::Model*> model = find(view(name->get_string()));
    if (!model) return std::unexpected(model.error());
    const json::value* placements = row.if_contains("placements");
    if (placements == nullptr || !placements->is_array()) {
      return invalid(cat("\"placements\" must be a list; ", kForm));
    }
    if (auto ok = read(placements->get_array()); !ok) return ok;
    const Result<mig::Layout> layout = mig::Layout::make(**model, texts_);
    if (!layout) return std::unexpected(layout.error());
    write(row, *name, *placements, (*model)->frag_cost(layout->occupancy()), out);
    return {};
  }

  Result<const mig::Model*> find(std::string_view name) {
    const auto known = models_.find(name);
    if (known != models_.end()) return known->second.get();
    Result<ModelPointer> model = model_named(std::string(name));
    if (!model) return std::unexpected(model.error());
    return models_.emplace(name, *std::move(model)).first->second.get();
  }

  Result<void> read(const json::array& placements) {
    texts_.resize(placements.size());
    for (std::size_t i = 0; i < placements.size(); ++i) {
      const json::object* placement = placements[i].if_object();
      const json::value* profile = placement ? placement->if_contains("profile") : nullptr;
      const json::value* start = placement ? placement->if_contains("start") : nullptr;
      const std::int64_t* number = start ? start->if_int64() : nullptr;
      if (profile == nullptr || !profile->is_string() || number == nullptr || *number < 0 ||
          *number >= mig::kMaxMemorySlices) {
        return invalid(cat("placement ", i + 1,
                           R"( needs a string "profile" and a whole number "start" from 0 to )",
                           mig::kMaxMemorySlices - 1, "; ", kForm));
      }
      texts_[i].profile = view(profile->get_string());
      texts_[i].start = static_cast<int>(*number);
    }
    return {};
  }

  static void write(const json::object& row, const json::value& model,
                    const json::value& placements, mig::FragCost cost, std::string& out) {
    out += R"({"model": )";
    text::append_json(out, model);
    out += R"(, "placements": )";
    text::append_json(out, placements);
    out += R"(, "cost": ")";
    out += cost.fraction();
    out += '"';
    for (const auto& [key, value] : row) {
      const std::string_view name(key.data(), key.size());
      if (name == "model" || name == "placements" || name == "cost") continue;
      out += ", ";
      text::append_json(out, json::string(name));
      out += ": ";
      text::append_json(out, value);
    }
    out += "}\n";
  }

  std::array<unsigned char, 16'384> block_{};
  json::monotonic_resource memory_{block_.data(), block_.size()};
  json::parser parser_;
  std::map<std::string, ModelPointer, std::less<>> models_;
  std::vector<mig::PlacementText> texts_;
};

}  // namespace

Result<void> add_costs_to_rows(std::string_view rows, std::string_view source, std::string& out) {
  RowReader reader;
  out.reserve(out.size() + rows.size() + rows.size() / 4);
  return for_each_row(rows, source, [&](std::string_view row) { return reader.answer(row, out); });
}

Result<void> add_costs_to_rows(std::string& out) {
  const Result<std::string> rows = read_standard_input();
  if (!rows) return std::unexpected(rows.error());
  return add_costs_to_rows(*rows, "standard input", out);
}

}  // namespace tangram::cli
