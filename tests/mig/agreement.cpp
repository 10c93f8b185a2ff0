// See agreement.hpp.
#include "tests/mig/agreement.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "mig/driver.hpp"
#include "mig/layout.hpp"

namespace tangram::naive {
namespace {

std::string show(std::optional<int> value) { return value ? std::to_string(*value) : "none"; }

std::vector<int> bits_of(mig::SliceMask mask) {
  std::vector<int> bits;
  for (int i = 0; i < mig::kMaxMemorySlices; ++i) {
    if (((mask >> i) & 1) != 0) bits.push_back(i);
  }
  return bits;
}

std::string show(const std::vector<int>& values) {
  std::string out = "{";
  for (const int value : values) out += " " + std::to_string(value);
  return out + " }";
}

std::vector<int> positions_of(const std::vector<bool>& flags) {
  std::vector<int> positions;
  for (std::size_t i = 0; i < flags.size(); ++i) {
    if (flags[i]) positions.push_back(static_cast<int>(i));
  }
  return positions;
}

// Collects the first difference only.
class Comparison {
 public:
  Comparison(const mig::Model& model, const Pieces& pieces) : model_(model), pieces_(pieces) {}

  void equal(const std::string& question, const std::string& tables, const std::string& naive) {
    if (difference_ || tables == naive) return;
    std::string layout;
    for (const Piece& piece : pieces_) layout += to_string(model_, placement_of(piece)) + " ";
    difference_ = cat(model_.name(), " [ ", layout, "]: ", question, ": the tables say ", tables,
                      ", the naive reference says ", naive);
  }
  [[nodiscard]] std::optional<std::string> difference() const { return difference_; }

 private:
  const mig::Model& model_;
  const Pieces& pieces_;
  std::optional<std::string> difference_;
};

void compare_state(const mig::Model& model, const Pieces& pieces, Comparison& check) {
  const mig::ModelSpec& spec = model.spec();
  const mig::Occupancy o = occupancy_of(model, pieces);
  check.equal("slices", show(bits_of(model.slices(o))),
              show(positions_of(slices_taken(spec, pieces))));
  check.equal("compute", cat(model.compute_used(o)), cat(compute_used(spec, pieces)));
  check.equal("FragCost", model.frag_cost(o).fraction(), text(frag_cost(spec, pieces)));
}

void compare_profile(const mig::Model& model, const Pieces& pieces, int profile,
                     Comparison& check) {
  const mig::ModelSpec& spec = model.spec();
  const mig::Occupancy o = occupancy_of(model, pieces);
  const mig::ProfileIndex p = index_of(profile);
  const std::string name = " of " + model.profile(p).name;
  const std::vector<int> free = free_starts(spec, pieces, profile);
  check.equal("ideal" + name, cat(model.ideal(o, p)), cat(ideal(spec, pieces, profile)));
  check.equal("feasible" + name, cat(model.feasible(o, p)), cat(free.size()));
  check.equal("free starts" + name, show(bits_of(model.free_starts(o, p))), show(free));
  check.equal("best start" + name, show(model.best_start(o, p)),
              show(best_start(spec, pieces, profile)));
  check.equal("driver start" + name, show(mig::driver_start(model, o, p)),
              show(driver_start(spec, pieces, profile)));
}

void compare_steps(const mig::Model& model, const Pieces& pieces, Comparison& check) {
  const mig::Occupancy o = occupancy_of(model, pieces);
  for (const int profile : all_profiles(model.spec())) {
    for (const int start : free_starts(model.spec(), pieces, profile)) {
      const mig::Placement p = placement_of({profile, start});
      const mig::Occupancy there = model.with(o, p);
      check.equal("there and back with " + to_string(model, p),
                  cat(model.without(there, p).value()), cat(o.value()));
    }
  }
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    Pieces rest = pieces;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    const mig::Placement p = placement_of(pieces[i]);
    check.equal("without " + to_string(model, p), cat(model.without(o, p).value()),
                cat(occupancy_of(model, rest).value()));
  }
}

}  // namespace

mig::ProfileIndex index_of(int profile) {
  return mig::ProfileIndex(static_cast<std::uint8_t>(profile));
}

mig::Placement placement_of(Piece piece) {
  return {index_of(piece.profile), static_cast<std::uint8_t>(piece.start)};
}

mig::Occupancy occupancy_of(const mig::Model& model, const Pieces& pieces) {
  mig::Occupancy o = mig::kEmpty;
  for (const Piece& piece : pieces) o = model.with(o, placement_of(piece));
  return o;
}

std::optional<std::string> disagreement(const mig::Model& model, const Pieces& pieces) {
  Comparison check(model, pieces);
  compare_state(model, pieces, check);
  for (const int profile : all_profiles(model.spec())) {
    compare_profile(model, pieces, profile, check);
  }
  compare_steps(model, pieces, check);
  return check.difference();
}

}  // namespace tangram::naive
