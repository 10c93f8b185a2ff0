// Saved: the whole state of a scheduler as plain data, so that a body can store it. A scheduler
// restored from it continues exactly as the saved one would have: the same events give the same
// actions. Contains no references to the scheduler's memory; jobs are named by id.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/instant.hpp"
#include "core/entry_pool.hpp"
#include "core/ids.hpp"
#include "core/job.hpp"
#include "core/node.hpp"
#include "core/scheduler.hpp"
#include "core/timers.hpp"
#include "core/tuning.hpp"
#include "core/usage.hpp"
#include "mig/model.hpp"

namespace tangram::core {

struct SavedJob {
  Job job;              // its neighbours in the queue and job.profile are left empty
  std::string profile;  // by name: job.profile is a number of this process

  friend bool operator==(const SavedJob&, const SavedJob&) = default;
};

struct SavedEntry {
  mig::Placement placement;
  EntryState state = EntryState::kIdle;
  bool movable = false;
  bool leaving = false;
  InstanceId id;
  std::optional<JobId> job;

  friend bool operator==(const SavedEntry&, const SavedEntry&) = default;
};

struct SavedGpu {
  GpuId id;
  std::shared_ptr<const mig::Model> model;
  std::vector<mig::Placement> layout;  // static partitioning
  Health health = Health::kOk;
  bool cordoned = false;
  bool draining = false;
  bool incoming = false;
  std::vector<SavedEntry> entries;  // in the scheduler's order

  // Models by what they are, not where.
  friend bool operator==(const SavedGpu& a, const SavedGpu& b) {
    const bool same_model =
        a.model == b.model || (a.model && b.model && a.model->spec() == b.model->spec());
    return same_model && a.id == b.id && a.layout == b.layout && a.health == b.health &&
           a.cordoned == b.cordoned && a.draining == b.draining && a.incoming == b.incoming &&
           a.entries == b.entries;
  }
};

// An instance whose destruction failed and is tried again.
struct SavedQuarantine {
  GpuId gpu;
  InstanceId instance;
  int failures = 0;
  bool attempting = false;

  friend bool operator==(const SavedQuarantine&, const SavedQuarantine&) = default;
};

// State of no particular job or GPU. The order of the queue is not here: it follows from the queued
// jobs, the tuning's queue policy, the usage of users and `ordered_at`.
struct SavedRest {
  Partitioning partitioning = Partitioning::kDynamic;
  Tuning tuning;
  Instant now{};
  std::optional<Instant> woken_at;
  std::uint64_t next_order = 0;
  std::uint32_t next_instance = 1;
  std::uint32_t next_run = 1;
  bool try_queue = false;
  std::optional<std::uint64_t> head_order;  // of the job that protect_head protected last
  std::vector<GpuId> to_plan;               // ascending; GPUs that await planning
  std::vector<GpuId> restrained;            // ascending; those that restraint keeps
  std::vector<Timer> timers;                // the earliest first
  std::vector<SavedQuarantine> quarantines;
  std::vector<JobId> cooling;       // as Node::cooling()
  std::vector<std::string> recent;  // profiles of the latest requests, the oldest first
  Instant ordered_at{};             // the time of the queue's order, of a queue with backfill
  std::vector<UserUsage> usage;     // by user; slices held follow from the jobs

  friend bool operator==(const SavedRest&, const SavedRest&) = default;
};

struct Saved {
  std::vector<SavedGpu> gpus;  // by id
  std::vector<SavedJob> jobs;  // by id
  SavedRest rest;

  friend bool operator==(const Saved&, const Saved&) = default;
};

// What changed since the previous call. No job is both among `jobs` and `gone`; a gone job may
// never have been in `jobs`.
struct SavedChanges {
  std::vector<SavedGpu> gpus;  // by id
  std::vector<SavedJob> jobs;  // by id
  std::vector<JobId> jobs_gone;
  SavedRest rest;
};

}  // namespace tangram::core
