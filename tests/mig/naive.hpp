// A naive reference of the MIG geometry: it works on the list of placements of a GPU and answers
// every query from the specification, with its own fractions. The tests and benchmarks compare the
// tables of mig::Model with it. It uses ModelSpec only, not Model.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mig/model.hpp"

namespace tangram::naive {

// A profile (by its index in the specification's list) at a start.
struct Piece {
  int profile = 0;
  int start = 0;

  friend auto operator<=>(const Piece&, const Piece&) = default;
};
using Pieces = std::vector<Piece>;

// An exact fraction in lowest terms with a positive denominator.
struct Fraction {
  std::int64_t numerator = 0;
  std::int64_t denominator = 1;

  friend bool operator==(const Fraction&, const Fraction&) = default;
};
[[nodiscard]] Fraction fraction(std::int64_t numerator, std::int64_t denominator);
[[nodiscard]] Fraction sum(Fraction a, Fraction b);
[[nodiscard]] bool less(Fraction a, Fraction b);
[[nodiscard]] std::string text(Fraction f);

[[nodiscard]] int compute_used(const mig::ModelSpec& spec, const Pieces& pieces);
[[nodiscard]] int memory_used(const mig::ModelSpec& spec, const Pieces& pieces);
// Whether each memory slice is taken, slice 0 first.
[[nodiscard]] std::vector<bool> slices_taken(const mig::ModelSpec& spec, const Pieces& pieces);
[[nodiscard]] bool overlap(const mig::ModelSpec& spec, Piece a, Piece b);

// The first profile of each geometry: those with the same slices and starts count once.
[[nodiscard]] std::vector<int> geometries(const mig::ModelSpec& spec);

// Eq. 3, the starts behind Eq. 4 in ascending order, and Eq. 5 with 0/0 := 1.
[[nodiscard]] int ideal(const mig::ModelSpec& spec, const Pieces& pieces, int profile);
[[nodiscard]] std::vector<int> free_starts(const mig::ModelSpec& spec, const Pieces& pieces,
                                           int profile);
[[nodiscard]] Fraction frag_cost(const mig::ModelSpec& spec, const Pieces& pieces);

// The start with the lowest FragCost afterwards, the highest on ties; and the driver's choice: the
// start that leaves the most legal placements over all profiles, the lowest on ties.
[[nodiscard]] std::optional<int> best_start(const mig::ModelSpec& spec, const Pieces& pieces,
                                            int profile);
[[nodiscard]] std::optional<int> driver_start(const mig::ModelSpec& spec, const Pieces& pieces,
                                              int profile);

// Every set of placements of these profiles without an overlap, each sorted by start and then by
// profile. Ignores compute slices and limits.
[[nodiscard]] std::vector<Pieces> layouts(const mig::ModelSpec& spec,
                                          std::span<const int> profiles);
[[nodiscard]] bool within_limits(const mig::ModelSpec& spec, const Pieces& pieces);
[[nodiscard]] std::vector<int> all_profiles(const mig::ModelSpec& spec);

// Whether the specification is valid: numbers in range, names unique, and no layout that takes more
// compute slices than there are.
[[nodiscard]] bool is_sound(const mig::ModelSpec& spec);

}  // namespace tangram::naive
