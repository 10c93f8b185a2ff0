// Fuzzes model files: a text is rejected with position and reason, or gives a specification that
// builds and is the same after being written and read again. In every state of the resulting model
// the tables are consistent with each other.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.hpp"
#include "mig/model.hpp"
#include "text/model_file.hpp"

namespace tangram {
namespace {

using mig::Model;
using mig::Occupancy;
using mig::ProfileIndex;

// A message looks like "fuzz.toml:12:3: reason".
void check_message(const std::string& message) {
  constexpr std::string_view kFile = "fuzz.toml:";
  CHECK(message.starts_with(kFile));
  const std::string_view rest = std::string_view(message).substr(kFile.size());
  CHECK(!rest.empty() && rest.front() >= '1' && rest.front() <= '9');
  CHECK(message.find('\n') == std::string::npos);
}

void check_state(const Model& model, Occupancy o) {
  for (const ProfileIndex p : model.representatives()) {
    CHECK(model.feasible(o, p) == std::popcount(model.free_starts(o, p)));
    CHECK((model.ideal(o, p) == 0) <= (model.feasible(o, p) == 0));
    const auto best = model.best_start(o, p);
    CHECK(best.has_value() == (model.feasible(o, p) > 0));
    if (!best) continue;
    const mig::Placement placement{p, static_cast<std::uint8_t>(*best)};
    CHECK(model.without(model.with(o, placement), placement) == o);
  }
  CHECK(model.frag_units(o) <= model.frag_denominator());
}

void check_model(const Model& model) {
  for (int state = 0; state < model.state_count(); ++state) {
    check_state(model, Occupancy(static_cast<std::uint16_t>(state)));
  }
}

void check_input(std::string_view toml) {
  const Result<mig::ModelSpec> spec = text::parse_model(toml, "fuzz.toml");
  if (!spec) {
    check_message(spec.error().message);
    return;
  }
  const Result<Model> model = Model::build(*spec);
  CHECK(model.has_value());
  check_model(*model);
  const Result<mig::ModelSpec> again = text::parse_model(text::to_toml(*spec), "again.toml");
  CHECK(again.has_value());
  CHECK(*again == *spec);
}

}  // namespace
}  // namespace tangram

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string input(data, data + size);
  tangram::check_input(input);
  return 0;
}
