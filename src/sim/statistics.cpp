// See statistics.hpp.
#include "sim/statistics.hpp"

#include <cmath>
#include <cstddef>
#include <vector>

#include "base/check.hpp"

namespace tangram::sim {
namespace {

// The 97.5 % point of Student's t: exact where few runs make it large, else by its expansion
// around the normal distribution (good to three digits from five degrees of freedom on).
double student(std::size_t degrees) {
  constexpr double kFew[] = {0, 12.706, 4.303, 3.182, 2.776};
  if (degrees < std::size(kFew)) return kFew[degrees];
  const double z = 1.959964;
  const auto n = static_cast<double>(degrees);
  const double z3 = z * z * z;
  const double z5 = z3 * z * z;
  return z + (z3 + z) / (4 * n) + (5 * z5 + 16 * z3 + 3 * z) / (96 * n * n) +
         (3 * z5 * z * z + 19 * z5 + 17 * z3 - 15 * z) / (384 * n * n * n);
}

double sum_of(std::span<const double> values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return sum;
}

}  // namespace

Estimate estimate(std::span<const double> runs) {
  if (runs.empty()) return {};
  const auto n = static_cast<double>(runs.size());
  const double mean = sum_of(runs) / n;
  if (runs.size() < 2) return {mean, 0};
  double squares = 0;
  for (const double r : runs) squares += (r - mean) * (r - mean);
  return {mean, student(runs.size() - 1) * std::sqrt(squares / (n - 1) / n)};
}

Estimate reduction(std::span<const double> base, std::span<const double> ours) {
  CHECK(base.size() == ours.size());
  const double all_base = sum_of(base);
  const double all_ours = sum_of(ours);
  if (all_base <= 0) return {};
  const double whole = 1 - all_ours / all_base;
  const std::size_t n = base.size();
  if (n < 2) return {whole, 0};
  std::vector<double> without(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double rest = all_base - base[i];
    without[i] = rest > 0 ? 1 - (all_ours - ours[i]) / rest : whole;
  }
  const double centre = sum_of(without) / static_cast<double>(n);
  double squares = 0;
  for (const double w : without) squares += (w - centre) * (w - centre);
  const double variance = squares * static_cast<double>(n - 1) / static_cast<double>(n);
  return {whole, student(n - 1) * std::sqrt(variance)};
}

}  // namespace tangram::sim
