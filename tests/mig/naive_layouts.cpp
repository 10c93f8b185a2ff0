// See naive.hpp: all layouts of a specification, and whether the specification is valid. Each
// possible placement is taken or left, one after another.
#include <algorithm>
#include <cstddef>
#include <set>
#include <string>

#include "tests/mig/naive.hpp"

namespace tangram::naive {
namespace {

using PieceIt = Pieces::const_iterator;

void take_or_leave(const mig::ModelSpec& spec, PieceIt next, PieceIt end, Pieces& taken,
                   std::vector<Pieces>& out) {
  if (next == end) {
    out.push_back(taken);
    return;
  }
  take_or_leave(spec, next + 1, end, taken, out);
  const bool blocked =
      std::ranges::any_of(taken, [&](Piece held) { return overlap(spec, held, *next); });
  if (blocked) return;
  taken.push_back(*next);
  take_or_leave(spec, next + 1, end, taken, out);
  taken.pop_back();
}

bool sound_profile(const mig::ModelSpec& spec, const mig::Profile& p) {
  const auto between = [](int value, int highest) { return value >= 1 && value <= highest; };
  const bool numbers = between(p.compute_slices, spec.compute_slices) &&
                       between(p.memory_slices, spec.memory_slices) &&
                       between(p.max_instances, mig::kMaxMemorySlices);
  const std::set<int> starts(p.starts.begin(), p.starts.end());
  const bool inside = std::ranges::all_of(starts, [&](int start) {
    return start >= 0 && start <= spec.memory_slices - p.memory_slices;
  });
  return numbers && inside && !starts.empty() && starts.size() == p.starts.size() &&
         !p.name.empty() && p.name.find_first_of("@ \t\r\n") == std::string::npos;
}

}  // namespace

std::vector<Pieces> layouts(const mig::ModelSpec& spec, std::span<const int> profiles) {
  Pieces possible;
  for (const int profile : profiles) {
    for (const int start : spec.profiles[static_cast<std::size_t>(profile)].starts) {
      possible.push_back({profile, start});
    }
  }
  std::ranges::sort(possible, [](const Piece& a, const Piece& b) {
    return a.start != b.start ? a.start < b.start : a.profile < b.profile;
  });
  std::vector<Pieces> out;
  Pieces taken;
  take_or_leave(spec, possible.begin(), possible.end(), taken, out);
  return out;
}

bool within_limits(const mig::ModelSpec& spec, const Pieces& pieces) {
  std::vector<int> count(spec.profiles.size(), 0);
  int extended = 0;   // +me and +me.all
  int all_media = 0;  // +me.all
  int no_media = 0;   // -me
  for (const Piece& piece : pieces) {
    const auto index = static_cast<std::size_t>(piece.profile);
    const mig::Profile& p = spec.profiles[index];
    if (++count[index] > p.max_instances) return false;
    if (p.name.find("+me") != std::string::npos) ++extended;
    if (p.name.find("+me.all") != std::string::npos) ++all_media;
    if (p.name.find("-me") != std::string::npos) ++no_media;
  }
  if (extended > 1) return false;
  return all_media == 0 || all_media + no_media == static_cast<int>(pieces.size());
}

std::vector<int> all_profiles(const mig::ModelSpec& spec) {
  std::vector<int> all(spec.profiles.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i);
  return all;
}

bool is_sound(const mig::ModelSpec& spec) {
  if (spec.name.empty() || spec.compute_slices < 1 || spec.memory_slices < 1) return false;
  if (spec.compute_slices > mig::kMaxComputeSlices) return false;
  if (spec.memory_slices > mig::kMaxMemorySlices) return false;
  if (spec.profiles.empty() || spec.profiles.size() > mig::kMaxProfiles) return false;
  std::set<std::string> names;
  for (const mig::Profile& p : spec.profiles) {
    if (!sound_profile(spec, p) || !names.insert(p.name).second) return false;
  }
  const std::vector<Pieces> all = layouts(spec, geometries(spec));
  return std::ranges::all_of(
      all, [&](const Pieces& pieces) { return compute_used(spec, pieces) <= spec.compute_slices; });
}

}  // namespace tangram::naive
