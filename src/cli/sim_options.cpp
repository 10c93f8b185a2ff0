// See sim_options.hpp.
#include "cli/sim_options.hpp"

#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "base/text.hpp"
#include "cli/mig_terms.hpp"
#include "files/read_file.hpp"
#include "policies/registry.hpp"
#include "sim/offered.hpp"

namespace tangram::cli {
namespace {

constexpr std::uint32_t kMostGpus = 10'000'000;
constexpr std::uint64_t kMostJobs = 10'000'000'000;
constexpr std::size_t kLargestTrace = std::size_t{4} << 30U;
constexpr double kDefaultLoad = 0.8;
constexpr double kMostSeconds = 1e9;

Result<double> number_in(std::string_view what, double value, double lowest, double highest) {
  if (std::isfinite(value) && value >= lowest && value <= highest) return value;
  return invalid(fmt::format("{} must be from {} to {}, not {}.", what, lowest, highest, value));
}

// The first of the options that was given and has no meaning for this workload.
Result<void> refuse(std::string_view workload,
                    std::initializer_list<std::pair<const char*, bool>> given) {
  for (const auto& [name, is_given] : given) {
    if (is_given) {
      return invalid(cat(name, " means nothing for the workload ", tangram::quoted(workload), "."));
    }
  }
  return {};
}

Result<void> set_node(const SimOptions& o, sim::Setting& setting) {
  if (o.gpus < 1 || o.gpus > kMostGpus) {
    return invalid(fmt::format("--gpus must be from 1 to {}, not {}.", kMostGpus, o.gpus));
  }
  const auto model = model_named(o.gpu_model);
  if (!model) return std::unexpected(model.error());
  sim::GpuSetting gpus{.model = *model, .count = o.gpus, .layout = {}};
  if (!o.layout.empty()) {
    std::vector<std::string> placements;
    for (std::size_t at = 0; at < o.layout.size();) {
      const std::size_t end = std::min(o.layout.find_first_of(" ,", at), o.layout.size());
      if (end > at) placements.push_back(o.layout.substr(at, end - at));
      at = end + 1;
    }
    const auto layout = layout_of(*gpus.model, placements);
    if (!layout) return std::unexpected(layout.error());
    gpus.layout = layout->placements();
    setting.partitioning = core::Partitioning::kStatic;
  }
  setting.gpus = {std::move(gpus)};
  return {};
}

Result<void> set_policy(const SimOptions& o, sim::Setting& setting) {
  core::Tuning& tuning = setting.tuning;
  tuning.placement = o.policy;
  tuning.migration = o.migration;
  const auto placement = policies::find_placement(o.policy);
  if (!placement) return std::unexpected(placement.error());
  tuning.queue = o.queue.empty() ? std::string((*placement)->queue) : o.queue;
  if ((*placement)->only_idle && setting.partitioning == core::Partitioning::kDynamic) {
    return invalid(cat("the policy ", o.policy, " never creates an instance; give the GPUs a ",
                       "layout with --static."));
  }
  const auto threshold = core::Threshold::parse(o.threshold);
  if (!threshold) return std::unexpected(threshold.error());
  tuning.threshold = *threshold;
  if (o.restraint == "none") {
    tuning.restraint = sim::no_restraint();
  } else if (o.restraint != "default") {
    return invalid(
        cat("unknown restraint ", tangram::quoted(o.restraint), ". Known: default and none."));
  }
  for (const std::string& knob : o.knobs) {
    const auto set = sim::set_knob(setting.knobs, knob);
    if (!set) return std::unexpected(set.error());
  }
  const auto known = policies::find_policies(tuning);
  if (!known) return std::unexpected(known.error());
  return {};
}

Result<std::vector<sim::Share>> mix_of(const SimOptions& o, const mig::Model& model) {
  auto mix =
      o.mix.empty() ? Result<std::vector<sim::Share>>(sim::paper_mix()) : sim::parse_mix(o.mix);
  if (!mix) return mix;
  for (const sim::Share& share : *mix) {
    const auto profile = model.find_profile(share.profile);
    if (profile) continue;
    std::string hint = o.mix.empty() ? " Say with --mix what the jobs ask for." : "";
    return std::unexpected(Error{profile.error().code, profile.error().message + hint});
  }
  return mix;
}

// The mean time between arrivals that offers the load, in compute slices.
double arrival_for_load(const sim::Setting& setting, const sim::Synthetic& s, double load) {
  const mig::Model& model = *setting.gpus.front().model;
  double slices = 0;
  double all = 0;
  for (const sim::Share& share : s.mix) {
    slices += share.count * model.profile(*model.find_profile(share.profile)).compute_slices;
    all += share.count;
  }
  const double busy = s.mean_duration_s + setting.knobs.process_start_s;
  const double node = static_cast<double>(model.compute_slices()) * setting.gpus.front().count;
  return busy * slices / all / (load * node);
}

Result<void> plan_synthetic(const SimOptions& o, SimPlan& plan) {
  const auto fits = refuse(
      o.workload, {{"--queries", !o.queries.empty()}, {"--speed-up", o.speed_up.has_value()}});
  if (!fits) return fits;
  sim::Synthetic s;
  const auto mix = mix_of(o, *plan.setting.gpus.front().model);
  if (!mix) return std::unexpected(mix.error());
  s.mix = *mix;
  s.tasks = o.jobs == 0 ? 1000 : o.jobs;
  const auto duration =
      number_in("--duration", o.duration_s.value_or(s.mean_duration_s), 1e-6, kMostSeconds);
  const auto share =
      number_in("--transfer-share", o.transfer_share.value_or(s.transfer_share), 0, 1);
  const auto movable = number_in("--movable-share", o.movable_share.value_or(1), 0, 1);
  const auto sigma = number_in("--sigma", o.sigma.value_or(1), 0, 10);
  const auto load = number_in("--load", o.load.value_or(kDefaultLoad), 1e-3, 100);
  for (const auto* value : {&duration, &share, &movable, &sigma, &load}) {
    if (!*value) return std::unexpected(value->error());
  }
  s.mean_duration_s = *duration;
  s.transfer_share = *share;
  s.movable_share = *movable;
  s.sigma = *sigma;
  const auto law = sim::parse_law(o.law.empty() ? "exponential" : o.law);
  if (!law) return std::unexpected(law.error());
  s.law = *law;
  if (o.sigma && s.law != sim::DurationLaw::kLogNormal) {
    return invalid("--sigma is for --law lognormal.");
  }
  if (o.arrival_s && o.load) return invalid("--arrival and --load exclude each other.");
  const auto arrival =
      number_in("--arrival", o.arrival_s.value_or(arrival_for_load(plan.setting, s, *load)), 1e-9,
                kMostSeconds);
  if (!arrival) return std::unexpected(arrival.error());
  s.mean_arrival_s = *arrival;
  plan.tasks = s.tasks;
  plan.workload = [s](std::uint64_t seed) { return sim::generate(s, seed); };
  return {};
}

Result<double> queries_of(const SimOptions& o, const sim::PaperWorkload& paper,
                          const sim::Setting& setting) {
  if (o.queries.empty()) {
    auto reference = *sim::paper_workload("normal25");
    reference.mix = paper.mix;
    return sim::queries_for_load(reference, setting, o.load.value_or(kDefaultLoad));
  }
  double value = 0;
  const char* end = o.queries.data() + o.queries.size();
  const auto read = std::from_chars(o.queries.data(), end, value);
  if (read.ec != std::errc{} || read.ptr != end || !(value >= 1 && value <= 60000)) {
    return invalid(
        cat("--queries must be a number from 1 to 60000, not ", tangram::quoted(o.queries), "."));
  }
  return value;
}

Result<void> plan_paper(const SimOptions& o, sim::PaperWorkload paper, SimPlan& plan) {
  const auto fits = refuse(o.workload, {{"--duration", o.duration_s.has_value()},
                                        {"--transfer-share", o.transfer_share.has_value()},
                                        {"--movable-share", o.movable_share.has_value()},
                                        {"--sigma", o.sigma.has_value()},
                                        {"--law", !o.law.empty()},
                                        {"--speed-up", o.speed_up.has_value()}});
  if (!fits) return fits;
  const auto mix = mix_of(o, *plan.setting.gpus.front().model);
  if (!mix) return std::unexpected(mix.error());
  paper.mix = *mix;
  if (o.jobs > 100'000'000) return invalid("--jobs must be at most 100000000 for this workload.");
  if (o.jobs > 0) paper.tasks = static_cast<int>(o.jobs);
  const auto arrival =
      number_in("--arrival", o.arrival_s.value_or(paper.mean_arrival_s), 1e-9, kMostSeconds);
  if (!arrival) return std::unexpected(arrival.error());
  const auto load = number_in("--load", o.load.value_or(kDefaultLoad), 1e-3, 100);
  if (!load) return std::unexpected(load.error());
  if (o.load && !o.queries.empty()) return invalid("--load and --queries exclude each other.");
  const auto queries = queries_of(o, paper, plan.setting);
  if (!queries) return std::unexpected(queries.error());
  if (*queries > 60000) return invalid("more than 60000 queries per task; lower --load.");
  paper.mean_arrival_s = *arrival;
  paper.queries_per_task = *queries;
  plan.tasks = static_cast<std::uint64_t>(paper.tasks);
  plan.notes.push_back(fmt::format("{:.2f} queries per task in the mean{}", *queries,
                                   o.queries.empty() ? " (by the rule of the offered load)" : ""));
  plan.workload = [paper](std::uint64_t seed) { return sim::generate(paper, seed); };
  return {};
}

Result<void> plan_trace(const SimOptions& o, SimPlan& plan) {
  const auto fits = refuse("trace", {{"--duration", o.duration_s.has_value()},
                                     {"--transfer-share", o.transfer_share.has_value()},
                                     {"--movable-share", o.movable_share.has_value()},
                                     {"--sigma", o.sigma.has_value()},
                                     {"--law", !o.law.empty()},
                                     {"--arrival", o.arrival_s.has_value()},
                                     {"--load", o.load.has_value()}});
  if (!fits) return fits;
  sim::TraceOptions options;
  const auto form = sim::parse_trace_form(o.form);
  if (!form) return std::unexpected(form.error());
  options.form = *form;
  options.skip_bad = o.skip_bad;
  options.most_tasks = o.jobs;
  const auto speed_up = number_in("--speed-up", o.speed_up.value_or(1), 1e-6, 1e9);
  if (!speed_up) return std::unexpected(speed_up.error());
  options.speed_up = *speed_up;
  auto mix = o.mix.empty() ? sim::paper_mix() : std::vector<sim::Share>();
  if (!o.mix.empty()) {
    auto read = sim::parse_mix(o.mix);
    if (!read) return std::unexpected(read.error());
    mix = *read;
  }
  options.mix = mix;
  if (!o.queries.empty()) {
    const auto queries = queries_of(o, {}, plan.setting);
    if (!queries) return std::unexpected(queries.error());
    options.queries_per_task = *queries;
  }
  const auto text = files::read_file(o.trace, "trace", kLargestTrace);
  if (!text) return std::unexpected(text.error());
  options.seed = o.seed;
  auto trace = sim::read_trace(*text, o.trace, options);
  if (!trace) return std::unexpected(trace.error());
  plan.notes.push_back(
      fmt::format("{}: {} rows, {} tasks", o.trace, trace->rows, trace->tasks.size()));
  if (trace->left_out > 0) {
    plan.notes.push_back(fmt::format("{} rows left out: failures or too long", trace->left_out));
  }
  if (trace->bad_rows > 0) {
    plan.notes.push_back(fmt::format("{} bad rows skipped", trace->bad_rows));
    for (const sim::BadRow& bad : trace->first_bad) {
      plan.notes.push_back(fmt::format("  line {}: {}", bad.line, bad.reason));
    }
  }
  plan.tasks = trace->tasks.size();
  const auto shared = std::make_shared<const sim::Trace>(std::move(*trace));
  plan.workload = [shared](std::uint64_t) {
    return sim::workload_of(shared->name, shared->profiles, shared->tasks);
  };
  return {};
}

}  // namespace

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
  verb.add_option("--load", o.load,
                  "Offered load: of the compute slices (synthetic), or of the busiest resource at "
                  "normal25 (0.8)")
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

Result<SimPlan> plan_simulation(const SimOptions& o) {
  SimPlan plan;
  auto done = set_node(o, plan.setting);
  if (done) done = set_policy(o, plan.setting);
  if (!done) return std::unexpected(done.error());
  if (o.jobs > kMostJobs) {
    return invalid(fmt::format("--jobs must be at most {}.", kMostJobs));
  }
  if (!o.trace.empty()) {
    if (o.workload != "synthetic") return invalid("--trace and --workload exclude each other.");
    done = plan_trace(o, plan);
  } else if (o.skip_bad || o.form != "auto") {
    done = invalid("--skip-bad and --form are for a --trace.");
  } else if (o.workload == "synthetic") {
    done = plan_synthetic(o, plan);
  } else {
    auto paper = sim::paper_workload(o.workload);
    if (!paper) {
      return not_found(cat("unknown workload ", tangram::quoted(o.workload), ". Known: synthetic, ",
                           join_words(sim::paper_workload_names()),
                           "; a file is given with --trace."));
    }
    done = plan_paper(o, *paper, plan);
  }
  if (!done) return std::unexpected(done.error());
  return plan;
}

}  // namespace tangram::cli
