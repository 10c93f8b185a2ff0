// See snapshot.hpp.
#include "core/snapshot.hpp"

#include "base/text.hpp"
#include "mig/layout.hpp"
#include "mig/limits.hpp"

namespace tangram::core {
namespace {

// Adds the instances of one GPU one by one; rejects invalid ones.
class GpuBuilder {
 public:
  GpuBuilder(Node& node, GpuId gpu) : node_(node), gpu_(gpu), model_(node.model(gpu)) {}

  Result<mig::Placement> place(const std::string& profile, int start) {
    const auto index = model_.find_profile(profile);
    if (!index) return std::unexpected(index.error());
    const auto placement = model_.placement(*index, start);
    if (!placement) return std::unexpected(placement.error());
    for (const Entry& e : node_.entries(gpu_)) {
      if (!model_.overlap(e.placement, *placement)) continue;
      return invalid(cat(mig::to_string(model_, *placement), " overlaps ",
                         mig::to_string(model_, e.placement), "."));
    }
    std::vector<mig::ProfileIndex> present;
    for (const Entry& e : node_.entries(gpu_)) present.push_back(e.placement.profile);
    if (const auto why = mig::limit_broken(model_, present, placement->profile)) {
      return invalid(cat(mig::to_string(model_, *placement), " is one too many: ", *why));
    }
    return *placement;
  }

  Result<void> add_job(const SnapshotJob& spec) {
    const auto placement = place(spec.profile, spec.start);
    if (!placement) return std::unexpected(placement.error());
    if (node_.find_job(spec.id) != kNoJob) {
      return invalid(cat("job ", spec.id.value(), " is given twice."));
    }
    const JobSlot slot =
        node_.add_job({.id = spec.id, .profile = spec.profile, .movable = spec.movable},
                      *node_.find_name(spec.profile));
    node_.note_request(*node_.find_name(spec.profile));  // as if it had arrived lately
    Job& job = node_.job(slot);
    job.phase = JobPhase::kRunning;
    job.main = {.gpu = gpu_, .instance = next_id(), .run = RunId(1), .ready = true};
    Node::Edit(node_, gpu_)
        .push({.placement = *placement,
               .state = EntryState::kHeld,
               .movable = spec.movable,
               .id = job.main.instance,
               .job = slot});
    return {};
  }

  Result<void> add_idle(const SnapshotInstance& spec) {
    const auto placement = place(spec.profile, spec.start);
    if (!placement) return std::unexpected(placement.error());
    Node::Edit(node_, gpu_)
        .push({.placement = *placement, .state = EntryState::kIdle, .id = next_id()});
    return {};
  }

 private:
  InstanceId next_id() {
    std::uint32_t highest = 0;
    for (const Entry& e : node_.entries(gpu_)) highest = std::max(highest, e.id.value());
    return InstanceId(highest + 1);
  }

  Node& node_;
  GpuId gpu_;
  const mig::Model& model_;
};

Result<void> add_gpu(Node& node, const SnapshotGpu& spec) {
  const GpuId gpu = node.add_gpu(node.add_model(spec.model));
  GpuBuilder builder(node, gpu);
  const auto where = [&](const Error& e) {
    return std::unexpected(Error{e.code, cat("GPU ", gpu.value(), ": ", e.message)});
  };
  for (const SnapshotJob& job : spec.jobs) {
    if (auto ok = builder.add_job(job); !ok) return where(ok.error());
  }
  for (const SnapshotInstance& idle : spec.idle) {
    if (auto ok = builder.add_idle(idle); !ok) return where(ok.error());
  }
  if (spec.cordoned) Node::Edit(node, gpu).gpu().cordoned = true;
  return {};
}

}  // namespace

Result<Node> build(const Snapshot& snapshot) {
  Node node(snapshot.partitioning);
  node.set_tuning(snapshot.tuning);
  node.reserve_gpus(static_cast<std::uint32_t>(snapshot.gpus.size()));
  for (const SnapshotGpu& gpu : snapshot.gpus) {
    if (auto ok = add_gpu(node, gpu); !ok) return std::unexpected(ok.error());
  }
  return node;
}

void apply_at_once(Node& node, const Move& move) {
  Job& job = node.job(move.slot);
  const bool movable = node.find(job.main.gpu, job.main.instance)->movable;
  {
    Node::Edit source(node, job.main.gpu);
    Entry& old = source.entry(job.main.instance);
    old.state = EntryState::kIdle;
    old.job = kNoJob;
    old.movable = false;
  }
  Node::Edit target(node, move.to.gpu);
  const mig::Model& model = node.model(move.to.gpu);
  const mig::Placement place{*node.profile_on(target.gpu().model, job.profile), move.to.start};
  InstanceId id(1);
  for (std::size_t i = target.entries().size(); i-- > 0;) {
    const Entry e = target.entries()[i];
    id = std::max(id, InstanceId(e.id.value() + 1));
    if (e.state != EntryState::kIdle) continue;
    if ((model.range(e.placement) & model.range(place)) != 0) target.erase(e.id);
  }
  target.push({.placement = place,
               .state = EntryState::kHeld,
               .movable = movable,
               .id = id,
               .job = move.slot});
  job.main.gpu = move.to.gpu;
  job.main.instance = id;
}

}  // namespace tangram::core
