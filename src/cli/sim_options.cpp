// See sim_options.hpp: the options.
#include "cli/sim_options.hpp"

namespace tangram::cli {

void add_sim_options(CLI::App& verb, SimOptions& o) {
  const char* node = "Node";
  verb.add_option("--gpus", o.gpus, "GPUs (4)")->option_text("N")->group(node);
  verb.add_option("--gpu-model", o.gpu_model, "Their model, or a model file (A100-40GB)")
      ->option_text("MODEL")
      ->group(node);
  verb.add_option("--static", o.layout,
                  "Static partitioning: the layout of each GPU, as in \"4g.20gb@0 3g.20gb@4\"")
      ->option_text("LAYOUT")
      ->group(node);
  const char* work = "Workload";
  verb.add_option(
          "--workload", o.workload,
          "synthetic (the default), or one of the paper's: normal25, long25, normal50, long50")
      ->option_text("NAME")
      ->group(work);
  verb.add_option("--jobs", o.jobs, "How many (1000; of the paper's 100; of a trace all)")
      ->option_text("N")
      ->group(work);
  verb.add_option(
          "--load", o.load,
          "Offered load of the busiest resource, compute slices or PCIe links (0.8); of the "
          "paper's workloads at normal25")
      ->option_text("SHARE")
      ->group(work);
  verb.add_option("--arrival", o.arrival_s, "Mean seconds between arrivals, instead of --load")
      ->option_text("S")
      ->group(work);
  verb.add_option("--mix", o.mix, "Profiles asked for, as in 1g.5gb:4,2g.10gb:3 (the paper's)")
      ->option_text("MIX")
      ->group(work);
  verb.add_option("--queries", o.queries, "Queries per task, in the mean (by the offered load)")
      ->option_text("N")
      ->group(work);
  verb.add_option("--duration", o.duration_s, "Synthetic: mean seconds of a job alone (300)")
      ->option_text("S")
      ->group(work);
  verb.add_option("--law", o.law, "Synthetic: exponential (the default), constant or lognormal")
      ->option_text("LAW")
      ->group(work);
  verb.add_option("--sigma", o.sigma, "Synthetic: of the lognormal law (1)")
      ->option_text("X")
      ->group(work);
  verb.add_option("--transfer-share", o.transfer_share,
                  "Synthetic: part of a job's time on the PCIe link (0.4)")
      ->option_text("SHARE")
      ->group(work);
  verb.add_option("--movable-share", o.movable_share, "Synthetic: jobs that may be moved (1)")
      ->option_text("SHARE")
      ->group(work);
  verb.add_option("--trace", o.trace, "A CSV file of jobs or queries, instead of --workload")
      ->option_text("FILE")
      ->group(work);
  verb.add_option("--form", o.form, "Of the trace: auto (the default), plain, burstgpt or azure")
      ->option_text("FORM")
      ->group(work);
  verb.add_flag("--skip-bad", o.skip_bad, "Count bad rows of the trace instead of refusing it")
      ->group(work);
  verb.add_option("--speed-up", o.speed_up, "Arrivals of the trace come this much faster (1)")
      ->option_text("X")
      ->group(work);
  verb.add_option("--most-tokens", o.most_tokens, "Longer queries of the trace are left out (2048)")
      ->option_text("N")
      ->group(work);
  const char* policy = "Policy";
  verb.add_option("--policy", o.policy, "Placement (paper); see `tangram policies`")
      ->option_text("NAME")
      ->group(policy);
  verb.add_option("--migration", o.migration, "off, intra, inter or both (the default)")
      ->option_text("NAME")
      ->group(policy);
  verb.add_option("--queue", o.queue, "Order of the waiting (the one the policy is meant for)")
      ->option_text("NAME")
      ->group(policy);
  verb.add_option("--threshold", o.threshold, "Lazy below, Busy from it on (0.4)")
      ->option_text("T")
      ->group(policy);
  verb.add_option("--restraint", o.restraint,
                  "On moves: default (as the daemon), or none (as the paper)")
      ->option_text("NAME")
      ->group(policy);
  verb.add_option("--knob", o.knobs,
                  "An assumption of the world, NAME=VALUE; see `tangram sim knobs`")
      ->option_text("NAME=VALUE")
      ->take_all()
      ->group("World");
  verb.add_option("--seed", o.seed, "Of the (first) workload (1)")
      ->option_text("N")
      ->group("World");
}

}  // namespace tangram::cli
