// RandomNode: a node in a random state, changed by random edits, to compare the indexed policies
// with the plain ones. It has what a running node has: mixed models, idle instances, pinned and
// moving jobs, cordoned and lost GPUs, jobs in back-off and in cooldown, a waiting job. A state is
// a function of the seed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/node.hpp"
#include "core/snapshot.hpp"
#include "tests/properties/random.hpp"

namespace tangram::decisions {

using properties::Random;

[[nodiscard]] core::Tuning random_tuning(Random& random);
[[nodiscard]] std::shared_ptr<const mig::Model> random_model(Random& random);
// Jobs and idle instances at random places of up to `gpus` GPUs.
[[nodiscard]] core::Snapshot random_snapshot(Random& random, std::size_t gpus);

class RandomNode {
 public:
  RandomNode(Random& random, std::size_t gpus);

  [[nodiscard]] const core::Node& node() const { return node_; }
  void change();  // one random edit
  [[nodiscard]] core::GpuId any_gpu();

 private:
  void add_instance();
  void end_instance();
  void change_flags();
  void change_gpu();
  void change_job();
  void change_node();

  Random& random_;
  core::Node node_;
  core::JobSlot waiting_ = core::kNoJob;
  std::uint64_t next_job_ = 1;
  std::uint32_t next_instance_ = 1;
};

}  // namespace tangram::decisions
