// See naive.hpp: the queries about one list of placements. Slow on purpose: every line can be
// compared with the paper's equation.
#include "tests/mig/naive.hpp"

#include <algorithm>
#include <cstddef>

namespace tangram::naive {
namespace {

const mig::Profile& profile_of(const mig::ModelSpec& spec, int profile) {
  return spec.profiles[static_cast<std::size_t>(profile)];
}

std::int64_t greatest_common_divisor(std::int64_t a, std::int64_t b) {
  while (b != 0) {
    const std::int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a < 0 ? -a : a;
}

std::vector<int> sorted(std::vector<int> values) {
  std::ranges::sort(values);
  return values;
}

bool same_geometry(const mig::Profile& a, const mig::Profile& b) {
  return a.compute_slices == b.compute_slices && a.memory_slices == b.memory_slices &&
         sorted(a.starts) == sorted(b.starts);
}

Pieces with(const Pieces& pieces, Piece piece) {
  Pieces more = pieces;
  more.push_back(piece);
  return more;
}

std::size_t legal_placements(const mig::ModelSpec& spec, const Pieces& pieces) {
  std::size_t count = 0;
  for (const int profile : all_profiles(spec)) count += free_starts(spec, pieces, profile).size();
  return count;
}

}  // namespace

Fraction fraction(std::int64_t numerator, std::int64_t denominator) {
  const std::int64_t divisor = greatest_common_divisor(numerator, denominator);
  const std::int64_t sign = denominator < 0 ? -1 : 1;
  return {sign * numerator / divisor, sign * denominator / divisor};
}

Fraction sum(Fraction a, Fraction b) {
  return fraction(a.numerator * b.denominator + b.numerator * a.denominator,
                  a.denominator * b.denominator);
}

bool less(Fraction a, Fraction b) {
  return a.numerator * b.denominator < b.numerator * a.denominator;
}

std::string text(Fraction f) {
  return std::to_string(f.numerator) + "/" + std::to_string(f.denominator);
}

int compute_used(const mig::ModelSpec& spec, const Pieces& pieces) {
  int used = 0;
  for (const Piece& piece : pieces) used += profile_of(spec, piece.profile).compute_slices;
  return used;
}

int memory_used(const mig::ModelSpec& spec, const Pieces& pieces) {
  int used = 0;
  for (const Piece& piece : pieces) used += profile_of(spec, piece.profile).memory_slices;
  return used;
}

std::vector<bool> slices_taken(const mig::ModelSpec& spec, const Pieces& pieces) {
  std::vector<bool> taken(static_cast<std::size_t>(spec.memory_slices), false);
  for (const Piece& piece : pieces) {
    for (int i = 0; i < profile_of(spec, piece.profile).memory_slices; ++i) {
      taken[static_cast<std::size_t>(piece.start + i)] = true;
    }
  }
  return taken;
}

bool overlap(const mig::ModelSpec& spec, Piece a, Piece b) {
  const int a_end = a.start + profile_of(spec, a.profile).memory_slices;
  const int b_end = b.start + profile_of(spec, b.profile).memory_slices;
  return a.start < b_end && b.start < a_end;
}

std::vector<int> geometries(const mig::ModelSpec& spec) {
  std::vector<int> firsts;
  for (const int profile : all_profiles(spec)) {
    const bool seen = std::ranges::any_of(firsts, [&](int first) {
      return same_geometry(profile_of(spec, first), profile_of(spec, profile));
    });
    if (!seen) firsts.push_back(profile);
  }
  return firsts;
}

int ideal(const mig::ModelSpec& spec, const Pieces& pieces, int profile) {
  const mig::Profile& wanted = profile_of(spec, profile);
  const int remaining_compute = spec.compute_slices - compute_used(spec, pieces);
  const int remaining_memory = spec.memory_slices - memory_used(spec, pieces);
  return std::min(remaining_compute / wanted.compute_slices,
                  remaining_memory / wanted.memory_slices);
}

std::vector<int> free_starts(const mig::ModelSpec& spec, const Pieces& pieces, int profile) {
  std::vector<int> free;
  for (const int start : sorted(profile_of(spec, profile).starts)) {
    const bool blocked = std::ranges::any_of(
        pieces, [&](const Piece& held) { return overlap(spec, held, Piece{profile, start}); });
    if (!blocked) free.push_back(start);
  }
  return free;
}

Fraction frag_cost(const mig::ModelSpec& spec, const Pieces& pieces) {
  const std::vector<int> profiles = geometries(spec);
  Fraction available{0, 1};
  for (const int profile : profiles) {
    const auto feasible = static_cast<std::int64_t>(free_starts(spec, pieces, profile).size());
    const int possible = ideal(spec, pieces, profile);
    const bool nothing_lost = possible == 0 && feasible == 0;
    available = sum(available, nothing_lost ? Fraction{1, 1} : fraction(feasible, possible));
  }
  const auto count = static_cast<std::int64_t>(profiles.size());
  const Fraction mean = fraction(available.numerator, available.denominator * count);
  return sum({1, 1}, {-mean.numerator, mean.denominator});
}

std::optional<int> best_start(const mig::ModelSpec& spec, const Pieces& pieces, int profile) {
  std::optional<int> best;
  Fraction lowest;
  for (const int start : free_starts(spec, pieces, profile)) {
    const Fraction cost = frag_cost(spec, with(pieces, {profile, start}));
    if (best && less(lowest, cost)) continue;
    best = start;
    lowest = cost;
  }
  return best;
}

std::optional<int> driver_start(const mig::ModelSpec& spec, const Pieces& pieces, int profile) {
  std::optional<int> best;
  std::size_t most = 0;
  for (const int start : free_starts(spec, pieces, profile)) {
    const std::size_t left = legal_placements(spec, with(pieces, {profile, start}));
    if (best && left <= most) continue;
    best = start;
    most = left;
  }
  return best;
}

}  // namespace tangram::naive
