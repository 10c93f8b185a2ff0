// See registry.hpp.
#include "policies/registry.hpp"

#include <array>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "policies/backfill.hpp"
#include "policies/migration.hpp"
#include "policies/placement.hpp"
#include "policies/queue_orders.hpp"

namespace tangram::policies {
namespace {

using Names = std::string_view;
constexpr Names kPaper[] = {"class (Lazy before Busy)", "FragCost after", "reuse", "GPU",
                            "highest start"};
constexpr Names kFirstFit[] = {"GPU", "start in table order"};
constexpr Names kFirstFitDriver[] = {"GPU", "the driver's start", "start"};
constexpr Names kBestFit[] = {"free slices after", "GPU", "FragCost after", "reuse",
                              "highest start"};
constexpr Names kLeastLoaded[] = {"load", "FragCost after", "reuse", "GPU", "highest start"};
constexpr Names kOwp[] = {"used before empty", "free slices before", "GPU", "stranded slices",
                          "highest start"};
constexpr Names kElasticBatch[] = {"free slices after", "GPU", "the driver's start", "start"};
constexpr Names kHami[] = {"largest free run", "legal placements left", "GPU", "highest start"};
constexpr Names kMinDelta[] = {"increase of FragCost", "reuse", "GPU", "highest start"};
constexpr Names kFgd[] = {"increase of unusable slices", "reuse", "GPU", "highest start"};

constexpr core::PlacementPolicy kPlacements[] = {
    {"paper", "Lazy before Busy, then the lowest FragCost, then reuse (the paper's method)", kPaper,
     paper_key, paper_indexed},
    {"paper-plain", "the same choice by looking at every GPU (the oracle of the index)", kPaper,
     paper_key},
    {"first-fit", "GPUs in index order, starts in table order", kFirstFit, first_fit_key},
    {"first-fit-driver", "the first GPU where it fits, at the driver's own start", kFirstFitDriver,
     first_fit_driver_key},
    {"static-first-fit", "the first idle instance of exactly the profile; creates none", kFirstFit,
     first_fit_key, nullptr, true},
    {"best-fit", "the fullest GPU where it fits, there the lowest FragCost", kBestFit,
     best_fit_key},
    {"least-loaded", "the lowest load, then the lowest FragCost", kLeastLoaded, least_loaded_key},
    {"owp-style", "used GPUs first, the fullest first, fewest stranded slices", kOwp, owp_style_key,
     nullptr, false, "largest-memory"},
    {"elasticbatch-style", "best fit at the driver's start", kElasticBatch, elasticbatch_style_key,
     nullptr, false, "largest-profile"},
    {"hami-style", "the largest free run, then the most legal placements left", kHami,
     hami_style_key},
    {"min-delta", "the smallest increase of FragCost", kMinDelta, min_delta_key},
    {"fgd-style", "the smallest increase of slices unusable to the recent mix", kFgd,
     fgd_style_key},
};

constexpr core::QueuePolicy kQueues[] = {
    {"fcfs", "first come, first served (the paper's method)", fcfs_before},
    {"fcfs-pools", "first come, first served on the GPUs of each model", fcfs_before,
     core::Passing::kPools},
    {"backfill", "by priority and fair share; later jobs pass where they delay no reservation",
     backfill_before, core::Passing::kBackfill, earliest_place},
    {"largest-memory", "by memory, then compute, descending (owp-style)", largest_memory_before},
    {"largest-profile", "by compute, then memory, descending (elasticbatch-style)",
     largest_profile_before},
};

constexpr core::MigrationPolicy kMigrations[] = {
    {"off", "no moves", off_next_move},
    {"intra", "on a Busy GPU that a job has left, lower its FragCost", intra_next_move},
    {"inter", "to a Lazy GPU that a job has left, from Busy ones", inter_next_move},
    {"both", "intra-GPU while Busy, inter-GPU while Lazy (the paper's method)", both_next_move},
    {"both-plain", "the same by looking at every job (the oracle of the index)",
     both_next_move_plain},
};

template <class Policy>
Result<const Policy*> find(std::span<const Policy> table, std::string_view kind,
                           std::string_view name) {
  std::vector<std::string> names;
  for (const Policy& policy : table) {
    if (policy.name == name) return &policy;
    names.emplace_back(policy.name);
  }
  const auto near = nearest(name, names);
  return not_found(cat("unknown ", kind, " policy ", quoted(name),
                       near ? cat("; did you mean ", *near, "?") : std::string("."),
                       " Known: ", join_words(names), "."));
}

}  // namespace

std::span<const core::PlacementPolicy> placement_policies() { return kPlacements; }
std::span<const core::QueuePolicy> queue_policies() { return kQueues; }
std::span<const core::MigrationPolicy> migration_policies() { return kMigrations; }

Result<const core::PlacementPolicy*> find_placement(std::string_view name) {
  return find(placement_policies(), "placement", name);
}
Result<const core::QueuePolicy*> find_queue(std::string_view name) {
  return find(queue_policies(), "queue", name);
}
Result<const core::MigrationPolicy*> find_migration(std::string_view name) {
  return find(migration_policies(), "migration", name);
}

Result<core::Policies> find_policies(const core::Tuning& tuning) {
  const auto placement = find_placement(tuning.placement);
  if (!placement) return std::unexpected(placement.error());
  const auto queue = find_queue(tuning.queue);
  if (!queue) return std::unexpected(queue.error());
  const auto migration = find_migration(tuning.migration);
  if (!migration) return std::unexpected(migration.error());
  return core::Policies{*placement, *queue, *migration};
}

}  // namespace tangram::policies
