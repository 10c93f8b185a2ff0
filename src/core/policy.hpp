// A policy is a pure function from the state of the node to data. A placement policy gives every
// candidate a key, and the smallest key wins, so that any decision can be explained by the first
// part of the key that differs. A migration policy answers with at most one move. Only the
// scheduler turns this data into actions.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/instant.hpp"
#include "core/ids.hpp"
#include "core/job.hpp"
#include "core/model_set.hpp"

namespace tangram::core {

class Node;

// A GPU and a start for an instance, reusing an idle instance or not.
struct Slot {
  GpuId gpu;
  std::uint8_t start = 0;
  bool reuse = false;

  friend auto operator<=>(const Slot&, const Slot&) = default;
};

struct Request {
  ProfileName profile;
  std::span<const BackOff> avoid = {};  // no candidates while their back-off runs
  ModelSet models = ModelSet::all();    // only GPUs of these models are candidates
  JobId job{~std::uint64_t{0}};         // its own reservation does not bind it
  Instant ends = Instant::max();        // it is gone by then
  ModelSet queued = {};                 // models not among `models` because earlier jobs wait there
};

// Compared part by part; the names of the parts are the policy's criteria.
using Key = std::array<std::int64_t, 6>;

struct PlacementPolicy {
  std::string_view name;
  std::string_view summary;
  std::span<const std::string_view> criteria;  // what the parts of the key mean, in order
  Key (*key)(const Node& node, const Request& request, const Slot& candidate);
  // The same choice without looking at every GPU; may be null.
  std::optional<Slot> (*indexed)(const Node& node, const Request& request) = nullptr;
  bool only_idle = false;           // never creates an instance, as under static partitioning
  std::string_view queue = "fcfs";  // the order of the waiting jobs it is meant for
};

// What the queue policy compares.
struct Waiting {
  std::uint64_t order = 0;  // of submission
  int memory_slices = 0;
  int compute_slices = 0;
  std::int64_t level = 0;   // priority, with what waiting adds to it; of queues with backfill
  std::uint64_t usage = 0;  // of its user lately; of queues with backfill
};

// Which waiting jobs may start. The models of a job are the GPU models that have its profile (only
// its own, if it is for one model); it does not matter whether their GPUs are cordoned.
enum class Passing : std::uint8_t {
  kNone,   // strict: only the first one
  kPools,  // on GPUs of a model, the first one that the model is one of the models of
  // As kPools; these heads get reservations, and later jobs may start where they delay none.
  kBackfill,
};

// An order of the waiting jobs, and who may start before earlier ones.
struct QueuePolicy {
  std::string_view name;
  std::string_view summary;
  bool (*before)(const Waiting& a, const Waiting& b);
  Passing passing = Passing::kNone;
  // kBackfill: the reservation of a head, on GPUs of these models. `only_idle`: as in
  // PlacementPolicy. nullopt: nobody can say when it can start.
  std::optional<Reservation> (*reserve)(const Node& node, const Job& head, const ModelSet& models,
                                        bool only_idle) = nullptr;
};

// A move of one job to a slot.
struct Move {
  JobId job;
  GpuId from;
  Slot to;
  MoveKind kind = MoveKind::kIntra;
  JobSlot slot;  // the core's record of the job

  friend bool operator==(const Move&, const Move&) = default;
};

// The answer of a migration policy. Restrained: there is a move, but restraint forbids it now; plan
// again at `retry` at the latest (or when tuning or the first waiting job changes).
struct Answer {
  std::optional<Move> move;
  bool restrained = false;
  Instant retry = Instant::max();
};

struct MigrationPolicy {
  std::string_view name;
  std::string_view summary;
  Answer (*next_move)(const Node& node, GpuId gpu);
};

// The three policies in force.
struct Policies {
  const PlacementPolicy* placement = nullptr;
  const QueuePolicy* queue = nullptr;
  const MigrationPolicy* migration = nullptr;
};

}  // namespace tangram::core
