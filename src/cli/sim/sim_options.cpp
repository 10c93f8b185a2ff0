// See sim_options.hpp: the options.
#include "cli/sim/sim_options.hpp"

namespace tangram::cli {
namespace {

// Declares options under one heading of the help.
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
  h.option("--gpus", "N", o.gpus, "Number of GPUs (default: 4)");
  h.option("--gpu-model", "MODEL", o.gpu_model, "GPU model or model file (default: A100-40GB)");
  h.option("--static", "LAYOUT", o.layout,
           "Static partitioning: layout of each GPU, e.g. \"4g.20gb@0 3g.20gb@4\"");
}

void add_workload(const Heading& h, SimOptions& o) {
  h.option("--workload", "NAME", o.workload,
           "synthetic (the default) or one of the paper: normal25, long25, normal50, long50");
  h.option("--jobs", "N", o.jobs,
           "Number of jobs (default: 1000; paper workloads: 100; traces: all)");
  h.option("--load", "SHARE", o.load,
           "Offered load of the busiest resource, compute slices or PCIe links (default: 0.8); "
           "for paper workloads: at normal25");
  h.option("--arrival", "S", o.arrival_s, "Mean seconds between arrivals, instead of --load");
  h.option("--mix", "MIX", o.mix,
           "Requested profiles and weights, e.g. 1g.5gb:4,2g.10gb:3 (default: the paper's)");
  h.option("--queries", "N", o.queries, "Mean queries per task (default: from the offered load)");
  h.option("--duration", "S", o.duration_s,
           "Synthetic: mean seconds of a job without contention (default: 300)");
  h.option(
      "--law", "LAW", o.law,
      "Synthetic: distribution of durations: exponential (the default), constant or lognormal");
  h.option("--sigma", "X", o.sigma, "Synthetic: sigma of the lognormal law (default: 1)");
  h.option("--transfer-share", "SHARE", o.transfer_share,
           "Synthetic: share of a job's time on the PCIe link (default: 0.4)");
  h.option("--movable-share", "SHARE", o.movable_share,
           "Synthetic: share of movable jobs (default: 1)");
  h.option("--trace", "FILE", o.trace, "CSV file of jobs or queries, instead of --workload");
  h.option("--form", "FORM", o.form, "Trace format: auto (the default), plain, burstgpt or azure");
  h.flag("--skip-bad", o.skip_bad, "Skip and count bad rows of the trace");
  h.option("--speed-up", "X", o.speed_up,
           "Divide the arrival times of the trace by this (default: 1)");
  h.option("--most-tokens", "N", o.max_tokens,
           "Skip queries of the trace with more tokens (default: 2048)");
}

void add_policy(const Heading& h, SimOptions& o) {
  h.option("--policy", "NAME", o.policy,
           "Placement policy (default: paper); see `tangram policies`");
  h.option("--migration", "NAME", o.migration,
           "Migration policy: off, intra, inter or both (the default)");
  h.option("--queue", "NAME", o.queue, "Queue policy (default: that of the placement policy)");
  h.option("--threshold", "T", o.threshold, "Load from which a GPU is Busy (default: 0.4)");
  h.option("--restraint", "NAME", o.restraint,
           "Limits on moves: default (as in the daemon) or none (as in the paper)");
}

void add_world(const Heading& h, SimOptions& o) {
  h.option("--knob", "NAME=VALUE", o.knobs, "Set a simulation parameter; see `tangram sim knobs`")
      ->take_all();
  h.option("--seed", "N", o.seed, "Seed of the (first) workload (default: 1)");
}

}  // namespace

void add_sim_options(Verb& verb, SimOptions& o) {
  add_node({verb, "Node"}, o);
  add_workload({verb, "Workload"}, o);
  add_policy({verb, "Policy"}, o);
  add_world({verb, "World"}, o);
}

}  // namespace tangram::cli
