// The form of the built-in tables: plain rows of facts, one file per architecture. Everything that
// can be computed from them is computed in Model. Private to the catalog.
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "mig/model.hpp"

namespace tangram::mig {

struct ProfileRow {
  std::string_view name;
  int compute_slices;
  int memory_slices;
  std::span<const int> starts;
  int max_instances;
  ProfileFacts facts;
};

struct ModelRow {
  std::string_view name;
  int compute_slices;
  int memory_slices;
  bool inferred;
};

inline constexpr int kU = kUnknown;  // short, for the tables
inline constexpr int kEverySlice7[] = {0, 1, 2, 3, 4, 5, 6};
inline constexpr int kPairs4[] = {0, 2, 4, 6};
inline constexpr int kPairs3[] = {0, 2, 4};
inline constexpr int kHalves8[] = {0, 4};
inline constexpr int kEverySlice4[] = {0, 1, 2, 3};
inline constexpr int kHalves4[] = {0, 2};
inline constexpr int kQuarters12[] = {0, 3, 6, 9};
inline constexpr int kHalves12[] = {0, 6};
inline constexpr int kWhole[] = {0};

[[nodiscard]] ModelSpec spec_from(const ModelRow& row,
                                  std::initializer_list<std::string_view> device_names,
                                  std::span<const ProfileRow> profiles);

[[nodiscard]] std::vector<ModelSpec> ampere_specs();
[[nodiscard]] std::vector<ModelSpec> hopper_specs();
[[nodiscard]] std::vector<ModelSpec> blackwell_specs();

}  // namespace tangram::mig
