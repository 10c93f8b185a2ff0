// Fuzzes placements as users type or send them: the first byte selects a built-in model, the rest
// are words like 2g.10gb@4. Checked: what parse_placement accepts is printed as it was read, and a
// layout is legal and equals the one made from its own text; anything else is an error with a
// message that is safe to print.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.hpp"
#include "base/text.hpp"
#include "mig/catalog.hpp"
#include "mig/layout.hpp"

namespace tangram::mig {
namespace {

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

void check_message(const Error& error) {
  CHECK(!error.message.empty());
  CHECK(std::ranges::none_of(error.message, [](char c) { return c >= 0 && c < 0x20; }));
}

std::vector<PlacementText> parse_all(std::string_view text) {
  std::vector<PlacementText> parsed;
  for (const std::string_view word : words(text)) {
    const Result<PlacementText> placement = parse_placement(word);
    if (!placement) {
      check_message(placement.error());
      continue;
    }
    CHECK(cat(placement->profile, '@', placement->start) == word);
    parsed.push_back(*placement);
  }
  return parsed;
}

void check_legal(const Model& model, const Layout& layout) {
  unsigned taken = 0;
  std::vector<PlacementText> again;
  for (const Placement& p : layout.placements()) {
    CHECK((taken & model.range(p)) == 0);
    taken |= model.range(p);
    again.push_back(*parse_placement(to_string(model, p)));
  }
  CHECK(model.slices(layout.occupancy()) == taken);
  const Result<Layout> same = Layout::make(model, again);
  CHECK(same.has_value());
  CHECK(same->placements() == layout.placements());
  CHECK(same->occupancy() == layout.occupancy());
}

void check_input(std::string_view input) {
  if (input.empty()) return;
  const std::vector<Model>& models = catalog();
  const Model& model = models[static_cast<unsigned char>(input.front()) % models.size()];
  const std::vector<PlacementText> parsed = parse_all(input.substr(1));
  const Result<Layout> layout = Layout::make(model, parsed);
  if (!layout) {
    check_message(layout.error());
    return;
  }
  CHECK(layout->placements().size() == parsed.size());
  check_legal(model, *layout);
}

}  // namespace
}  // namespace tangram::mig

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string input(data, data + size);
  tangram::mig::check_input(input);
  return 0;
}
