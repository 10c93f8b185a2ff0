// See choose_profile.hpp.
#include "daemon/views/choose_profile.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "daemon/access/problems.hpp"

namespace tangram::daemon {

namespace {

http::Answer<void> check_gpu_model(const core::Node& node, const std::string& gpu_model) {
  std::vector<std::string> names;
  for (std::size_t m = 0; m < node.model_count(); ++m) {
    names.push_back(node.model(core::ModelId(static_cast<std::uint8_t>(m))).name());
    if (gpu_model.empty() || names.back() == gpu_model) return {};
  }
  if (names.empty()) return {};  // choose_profile() says so
  return std::unexpected(
      unservable(cat("no GPU of this node is of model ", tangram::quoted(gpu_model),
                     "; available are ", join_words(names), ".")));
}

}  // namespace

http::Answer<std::string> choose_profile(const core::Node& node, const std::string& profile,
                                         const std::optional<std::uint64_t>& gpu_memory_mib,
                                         const std::string& gpu_model) {
  if (const auto known = check_gpu_model(node, gpu_model); !known) {
    return std::unexpected(known.error());
  }
  const mig::Profile* smallest = nullptr;
  std::vector<std::string> names;
  for (std::size_t m = 0; m < node.model_count(); ++m) {
    const mig::Model& model = node.model(core::ModelId(static_cast<std::uint8_t>(m)));
    if (!gpu_model.empty() && model.name() != gpu_model) continue;
    for (const mig::Profile& each : model.profiles()) {
      if (std::ranges::find(names, each.name) == names.end()) names.push_back(each.name);
      const bool plain = each.name.find_first_of("+-") == std::string::npos;
      if (!gpu_memory_mib || !plain) continue;
      const auto memory = static_cast<std::uint64_t>(each.facts.memory_mib);
      if (memory < *gpu_memory_mib) continue;
      const auto size = [](const mig::Profile& p) {
        return std::pair(p.facts.memory_mib, p.compute_slices);
      };
      if (smallest == nullptr || size(each) < size(*smallest)) smallest = &each;
    }
  }
  if (names.empty()) {
    return std::unexpected(unservable(
        "no GPU of this node can be used: see `tangram gpus` or `tangram device doctor`."));
  }
  if (gpu_memory_mib) {
    if (smallest != nullptr) return smallest->name;
    return std::unexpected(
        unservable(cat("no profile of this node has ", *gpu_memory_mib,
                       " MiB of memory: available are ", join_words(names), ".")));
  }
  const auto known = node.find_name(profile);
  if (known && node.known_to_some_gpu(*known, gpu_model)) return profile;
  const auto near = mig::nearest_profile(profile, names);
  return std::unexpected(unservable(cat(
      gpu_model.empty() ? "no GPU of this node" : cat("no ", gpu_model, " of this node"),
      " has the profile ", tangram::quoted(profile),
      near ? cat("; did you mean ", *near, "?") : ".", " Available are ", join_words(names), ".")));
}

}  // namespace tangram::daemon
