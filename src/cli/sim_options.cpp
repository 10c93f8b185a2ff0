// See sim_options.hpp: the options.
#include "cli/sim_options.hpp"

namespace tangram::cli {
namespace {

// Options under one heading of the help.
struct Heading {
  Verb& verb;
  const char* name;

  template <class T>
  Option option(const char* option, const char* value, T& to, const char* help) const {
    return verb.add_option(option, to, help)->option_text(value)->group(name);
  }
  void flag(const char* option, bool& to, const char* help) const {
    verb.add_flag(option, to, help)->group(name);
  }
};

void add_node(const Heading& h, SimOptions& o) {
  h.option("--gpus", "N", o.gpus, "GPUs (4)");
  h.option("--gpu-model", "MODEL", o.gpu_model, "Their model, or a model file (A100-40GB)");
  h.option("--static", "LAYOUT", o.layout,
           "Static partitioning: the layout of each GPU, as in \"4g.20gb@0 3g.20gb@4\"");
}

void add_workload(const Heading& h, SimOptions& o) {
  h.option("--workload", "NAME", o.workload,
           "synthetic (the default), or one of the paper's: normal25, long25, normal50, long50");
  h.option("--jobs", "N", o.jobs, "How many (1000; of the paper's 100; of a trace all)");
  h.option("--load", "SHARE", o.load,
           "Offered load of the busiest resource, compute slices or PCIe links (0.8); of the "
           "paper's workloads at normal25");
  h.option("--arrival", "S", o.arrival_s, "Mean seconds between arrivals, instead of --load");
  h.option("--mix", "MIX", o.mix, "Profiles asked for, as in 1g.5gb:4,2g.10gb:3 (the paper's)");
  h.option("--queries", "N", o.queries, "Queries per task, in the mean (by the offered load)");
  h.option("--duration", "S", o.duration_s, "Synthetic: mean seconds of a job alone (300)");
  h.option("--law", "LAW", o.law, "Synthetic: exponential (the default), constant or lognormal");
  h.option("--sigma", "X", o.sigma, "Synthetic: of the lognormal law (1)");
  h.option("--transfer-share", "SHARE", o.transfer_share,
           "Synthetic: part of a job's time on the PCIe link (0.4)");
  h.option("--movable-share", "SHARE", o.movable_share, "Synthetic: jobs that may be moved (1)");
  h.option("--trace", "FILE", o.trace, "A CSV file of jobs or queries, instead of --workload");
  h.option("--form", "FORM", o.form, "Of the trace: auto (the default), plain, burstgpt or azure");
  h.flag("--skip-bad", o.skip_bad, "Count bad rows of the trace instead of refusing it");
  h.option("--speed-up", "X", o.speed_up, "Arrivals of the trace come this much faster (1)");
  h.option("--most-tokens", "N", o.most_tokens, "Longer queries of the trace are left out (2048)");
}

void add_policy(const Heading& h, SimOptions& o) {
  h.option("--policy", "NAME", o.policy, "Placement (paper); see `tangram policies`");
  h.option("--migration", "NAME", o.migration, "off, intra, inter or both (the default)");
  h.option("--queue", "NAME", o.queue, "Order of the waiting (the one the policy is meant for)");
  h.option("--threshold", "T", o.threshold, "Lazy below, Busy from it on (0.4)");
  h.option("--restraint", "NAME", o.restraint,
           "On moves: default (as the daemon), or none (as the paper)");
}

void add_world(const Heading& h, SimOptions& o) {
  h.option("--knob", "NAME=VALUE", o.knobs,
           "An assumption of the world, NAME=VALUE; see `tangram sim knobs`")
      ->take_all();
  h.option("--seed", "N", o.seed, "Of the (first) workload (1)");
}

}  // namespace

void add_sim_options(Verb& verb, SimOptions& o) {
  add_node({verb, "Node"}, o);
  add_workload({verb, "Workload"}, o);
  add_policy({verb, "Policy"}, o);
  add_world({verb, "World"}, o);
}

}  // namespace tangram::cli
