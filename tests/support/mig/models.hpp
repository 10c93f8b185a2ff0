// Helpers for tests: a built-in model, a profile or a layout by name. A name that does not exist
// aborts the test with the message.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "mig/catalog.hpp"
#include "mig/layout.hpp"
#include "mig/model.hpp"

namespace tangram::mig::testing {

template <class T>
T or_stop(Result<T> result) {
  if (result) return *std::move(result);
  std::fprintf(stderr, "this test names something wrong: %s\n", result.error().message.c_str());
  std::abort();
}

inline const Model& model(std::string_view name) { return *or_stop(find_model(name)); }

inline ProfileIndex profile(const Model& m, std::string_view name) {
  return or_stop(m.find_profile(name));
}

inline Placement placement(const Model& m, std::string_view text) {
  const PlacementText parsed = or_stop(parse_placement(text));
  return or_stop(m.placement(profile(m, parsed.profile), parsed.start));
}

inline Result<Layout> try_layout(const Model& m, std::initializer_list<std::string_view> texts) {
  std::vector<PlacementText> parsed;
  for (const std::string_view text : texts) parsed.push_back(or_stop(parse_placement(text)));
  return Layout::make(m, parsed);
}

inline Occupancy occupied(const Model& m, std::initializer_list<std::string_view> texts) {
  return or_stop(try_layout(m, texts)).occupancy();
}

// A made-up specification, without facts.
inline Profile made_profile(std::string name, int compute, int size, std::vector<int> starts,
                            int most = 1) {
  return {.name = std::move(name),
          .compute_slices = compute,
          .memory_slices = size,
          .starts = std::move(starts),
          .max_instances = most,
          .facts = {}};
}

inline ModelSpec made_spec(int compute, int memory, std::vector<Profile> profiles) {
  return {.name = "toy",
          .compute_slices = compute,
          .memory_slices = memory,
          .inferred = false,
          .device_names = {},
          .profiles = std::move(profiles)};
}

}  // namespace tangram::mig::testing
