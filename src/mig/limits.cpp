// See limits.hpp.
#include "mig/limits.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace tangram::mig {
namespace {

Media media(const Model& model, ProfileIndex p) { return media_of(model.profile(p).name); }

bool has_shared_engines(Media m) { return m == Media::kExtended || m == Media::kAll; }

// How many of them fit side by side by geometry alone.
int most_by_geometry(const Profile& p) {
  std::vector<int> starts = p.starts;
  std::ranges::sort(starts);
  int count = 0;
  int free_from = 0;
  for (const int start : starts) {
    if (start < free_from) continue;
    ++count;
    free_from = start + p.memory_slices;
  }
  return count;
}

}  // namespace

std::optional<std::string> limit_broken(const Model& model, std::span<const ProfileIndex> present,
                                        ProfileIndex profile) {
  const Profile& wanted = model.profile(profile);
  const Media kind = media(model, profile);
  if (std::ranges::count(present, profile) >= wanted.max_instances) {
    return cat("a GPU can have at most ", wanted.max_instances, " ", wanted.name, ".");
  }
  for (const ProfileIndex other : present) {
    const Media beside = media(model, other);
    const std::string& name = model.profile(other).name;
    if (has_shared_engines(kind) && has_shared_engines(beside)) {
      return cat("a GPU can have one instance with +me engines, and ", name, " already has them.");
    }
    if (beside == Media::kAll && kind != Media::kNone) {
      return cat(name, " has all media engines: only -me profiles can be added.");
    }
    if (kind == Media::kAll && beside != Media::kNone) {
      return cat(wanted.name, " needs all media engines, but ", name, " has some of them.");
    }
  }
  return std::nullopt;
}

bool within_limits(const Model& model, std::span<const ProfileIndex> present,
                   ProfileIndex profile) {
  return !limit_broken(model, present, profile);
}

bool is_limited(const Model& model, ProfileIndex profile) {
  return has_shared_engines(media(model, profile)) ||
         model.profile(profile).max_instances < most_by_geometry(model.profile(profile));
}

}  // namespace tangram::mig
