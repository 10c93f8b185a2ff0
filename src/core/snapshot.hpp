// Snapshot: a node at rest: which jobs are where and which instances are idle. Read by `tangram
// decide`, tests and benchmarks. A snapshot is untrusted input: the error says which GPU and what
// is wrong.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "core/node.hpp"

namespace tangram::core {

struct SnapshotJob {
  JobId id;
  std::string profile;
  int start = 0;
  bool movable = true;
};

struct SnapshotInstance {
  std::string profile;
  int start = 0;
};

struct SnapshotGpu {
  std::shared_ptr<const mig::Model> model;
  std::vector<SnapshotJob> jobs;
  std::vector<SnapshotInstance> idle;
  bool cordoned = false;
};

struct Snapshot {
  Tuning tuning;
  Partitioning partitioning = Partitioning::kDynamic;
  std::vector<SnapshotGpu> gpus;
};

[[nodiscard]] Result<Node> build(const Snapshot& snapshot);

// Applies the move as if it had completed: the job is on the target, its old instance is idle, idle
// instances that overlap the target are gone.
void apply_at_once(Node& node, const Move& move);

}  // namespace tangram::core
