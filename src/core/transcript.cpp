// See transcript.hpp.
#include "core/transcript.hpp"

#include "base/text.hpp"
#include "mig/layout.hpp"

namespace tangram::core {
namespace {

std::string job(JobId id) { return cat("job ", id.value()); }
std::string gpu(GpuId id) { return cat("gpu ", id.value()); }
std::string run(RunId id) { return cat("r", id.value()); }
std::string instance(InstanceId id) { return cat("i", id.value()); }
std::string place(const Node& node, GpuId g, mig::Placement p) {
  return mig::to_string(node.model(g), p);
}

struct ActionText {
  const Node& node;

  std::string operator()(const CreateInstance& a) const {
    return cat("create ", instance(a.instance), " ", place(node, a.gpu, a.placement), " on ",
               gpu(a.gpu));
  }
  std::string operator()(const DestroyInstance& a) const {
    return cat("destroy ", instance(a.instance), " on ", gpu(a.gpu));
  }
  std::string operator()(const StartJob& a) const {
    return cat("start ", a.replica ? "replica of " : "", job(a.job), " as ", run(a.run), " in ",
               instance(a.instance), " on ", gpu(a.gpu));
  }
  std::string operator()(const SwitchTraffic& a) const {
    const std::string from = a.from == kNoRun ? std::string() : cat(" from ", run(a.from));
    return cat("switch traffic of ", job(a.job), from, " to ", run(a.to));
  }
  std::string operator()(const StopJob& a) const {
    return cat("stop ", run(a.run), " of ", job(a.job));
  }
  std::string operator()(const WakeAt& a) const { return cat("wake at ", instant_text(a.when)); }
  std::string operator()(const JobReport& a) const {
    return cat("report ", job(a.job), ": ", name_of(a.news));
  }
  std::string operator()(const MoveReport& a) const {
    return cat("report ", name_of(a.kind), " move of ", job(a.job), " from ", gpu(a.from), " to ",
               gpu(a.to), " start ", a.start, ": ", name_of(a.news));
  }
  std::string operator()(const GpuReport& a) const {
    const bool whole = a.news == GpuNews::kDrained;
    return cat("report ", gpu(a.gpu), ": ",
               whole ? std::string() : cat(place(node, a.gpu, a.placement), " "), name_of(a.news));
  }
};

// What only some jobs have.
std::string queue_text(const JobSpec& spec) {
  std::string text;
  if (!spec.gpu_model.empty()) text += cat(", only on ", spec.gpu_model);
  if (spec.priority != 0) text += cat(", priority ", spec.priority);
  if (spec.user != 0) text += cat(", user ", spec.user);
  if (spec.time_limit) text += cat(", limit ", instant_text(Instant(*spec.time_limit)));
  if (spec.stop_grace != Duration{})
    text += cat(", grace ", instant_text(Instant(spec.stop_grace)));
  return text;
}

std::string_view hold_text(HoldCause cause) {
  if (cause == kHoldLimit) return "at its user's limit";
  if (cause == kHoldDependency) return "until other jobs end";
  return cause == kHoldArray ? "at the limit of its array" : "by its user";
}

std::string_view release_text(HoldCause cause) {
  if (cause == kHoldLimit) return " below its user's limit again";
  if (cause == kHoldDependency) return " waits for no other job any more";
  return cause == kHoldArray ? " below the limit of its array" : " released";
}

struct EventText {
  const Node& node;

  std::string operator()(const JobSubmitted& e) const {
    return cat(job(e.spec.id), " submitted: ", name_of(e.spec.kind), " ", e.spec.profile,
               e.spec.movable ? "" : ", pinned", ", restart ", name_of(e.spec.restart),
               queue_text(e.spec));
  }
  std::string operator()(const JobCancelled& e) const { return job(e.job) + " cancelled"; }
  std::string operator()(const JobHeld& e) const {
    return cat(job(e.job), " held ", hold_text(e.cause));
  }
  std::string operator()(const JobReleased& e) const {
    return cat(job(e.job), release_text(e.cause));
  }
  std::string operator()(const JobRequeued& e) const { return job(e.job) + " requeued"; }
  std::string operator()(const JobReady& e) const {
    return cat(run(e.run), " of ", job(e.job), " ready");
  }
  std::string operator()(const JobExited& e) const {
    return cat(run(e.run), " of ", job(e.job), " exited with ", e.success ? "success" : "failure",
               e.node_fault ? " of the node" : "");
  }
  std::string operator()(const TrafficSwitched& e) const {
    return cat("traffic of ", job(e.job), " switched to ", run(e.run));
  }
  std::string operator()(const TrafficDrained& e) const {
    return cat(run(e.run), " of ", job(e.job), " drained");
  }
  std::string operator()(const InstanceCreated& e) const {
    return cat(instance(e.instance), " on ", gpu(e.gpu), " created");
  }
  std::string operator()(const InstanceDestroyed& e) const {
    return cat(instance(e.instance), " on ", gpu(e.gpu), " destroyed");
  }
  std::string operator()(const ActionFailed& e) const {
    switch (e.kind) {
      case ActionKind::kCreateInstance:
      case ActionKind::kDestroyInstance:
        return cat("failed to ", name_of(e.kind), " ", instance(e.instance), " on ", gpu(e.gpu));
      default:
        return cat("failed to ", name_of(e.kind), " ", run(e.run), " of ", job(e.job));
    }
  }
  std::string operator()(const GpuAdded& e) const { return cat(e.model->name(), " added"); }
  std::string operator()(const GpuHealth& e) const {
    return cat(gpu(e.gpu), " is ", name_of(e.health));
  }
  std::string operator()(const ForeignSeen& e) const {
    return cat("foreign ", place(node, e.gpu, e.placement), " seen on ", gpu(e.gpu));
  }
  std::string operator()(const ForeignGone& e) const {
    return cat("foreign ", place(node, e.gpu, e.placement), " gone from ", gpu(e.gpu));
  }
  std::string operator()(const InstanceQuarantined& e) const {
    return cat("unknown process in ", instance(e.instance), " on ", gpu(e.gpu));
  }
  std::string operator()(const QuarantineEnded& e) const {
    return cat("unknown process in ", instance(e.instance), " on ", gpu(e.gpu), " gone");
  }
  std::string operator()(const GpuCordoned& e) const { return gpu(e.gpu) + " cordoned"; }
  std::string operator()(const GpuUncordoned& e) const { return gpu(e.gpu) + " uncordoned"; }
  std::string operator()(const GpuDrained& e) const { return gpu(e.gpu) + " to be drained"; }
  std::string operator()(const MoveRequested& e) const {
    const std::string what =
        cat("move of ", job(e.job), " requested", e.restrained ? " by its owner" : "");
    return e.anywhere ? what : cat(what, ", to ", gpu(e.gpu), " at ", int{e.start});
  }
  std::string operator()(const TuningChanged& e) const {
    return cat("tuning: threshold ", e.tuning.threshold.text(), ", placement ", e.tuning.placement,
               ", migration ", e.tuning.migration, ", queue ", e.tuning.queue);
  }
  std::string operator()(const WakeUp&) const { return "time passes"; }
};

std::string entry_text(const Node& node, GpuId g, const Entry& e) {
  const std::string where = place(node, g, e.placement);
  if (e.job == kNoJob) return cat(name_of(e.state), " ", where);
  const Job& owner = node.job(e.job);
  const bool replica = owner.moving() && owner.replica.instance == e.id;
  return cat(job(owner.id), replica ? "'s replica " : " ", where, " (",
             e.state == EntryState::kHeld ? name_of(owner.phase) : name_of(e.state),
             owner.moving() ? cat(", move ", name_of(owner.move)) : std::string(), ")");
}

}  // namespace

std::string instant_text(Instant when) {
  if (when == Instant::max()) return "never";
  const std::int64_t us = when.time_since_epoch().count();
  std::string text = std::to_string(us / 1'000'000);
  if (us % 1'000'000 != 0) {
    std::string fraction = std::to_string(us % 1'000'000 + 1'000'000).substr(1);
    while (fraction.back() == '0') fraction.pop_back();
    text += "." + fraction;
  }
  return text + "s";
}

std::string to_text(const Node& node, const Action& action) {
  return std::visit(ActionText{node}, action);
}

std::string to_text(const Node& node, const Event& event) {
  return std::visit(EventText{node}, event);
}

std::string gpu_line(const Node& node, GpuId g) {
  const Gpu& it = node.gpu(g);
  const mig::Model& model = node.model(g);
  std::string line = cat(gpu(g), " ", model.name(), " ", node.busy(g) ? "Busy " : "Lazy ",
                         model.compute_used(it.occupied), "/", model.compute_slices(),
                         ", FragCost ", model.frag_cost(it.occupied).fraction());
  if (it.health != Health::kOk) line += cat(", ", name_of(it.health));
  if (it.cordoned) line += it.draining ? ", draining" : ", cordoned";
  line += ":";
  bool first = true;
  for (int start = 0; start < model.memory_slices(); ++start) {
    for (const Entry& e : node.entries(g)) {
      if (e.placement.start != start) continue;
      line += cat(first ? " " : " | ", entry_text(node, g, e));
      first = false;
    }
  }
  return first ? line + " empty" : line;
}

}  // namespace tangram::core
