// Snapshot: a node at rest, written down: which jobs stand where and which instances are idle. It
// is what `tangram decide` reads and what tests and benchmarks start from. One rule: a Node built
// from a snapshot is checked as untrusted input; the error says which GPU and what is wrong.
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

// The move as if it had been made at once: the job stands on the target, its old instance is idle,
// idle instances that overlap the target are gone.
void apply_at_once(Node& node, const Move& move);

}  // namespace tangram::core
