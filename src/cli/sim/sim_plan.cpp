// See sim_options.hpp: validates the options together.
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "cli/mig/mig_terms.hpp"
#include "cli/sim/sim_options.hpp"
#include "os/read_file.hpp"
#include "policies/registry.hpp"
#include "sim/hardware.hpp"
#include "sim/offered.hpp"

namespace tangram::cli {
namespace {

constexpr std::uint32_t kMaxGpus = 10'000'000;
constexpr std::uint64_t kMaxJobs = 10'000'000'000;
constexpr std::size_t kLargestTrace = std::size_t{4} << 30U;
constexpr double kDefaultLoad = 0.8;
constexpr double kMaxSeconds = 1e9;

Result<double> check_range(std::string_view what, double value, double lowest, double highest) {
  if (std::isfinite(value) && value >= lowest && value <= highest) return value;
  return invalid(fmt::format("{} must be from {} to {}, not {}.", what, lowest, highest, value));
}

// Fails if one of the options was given: they do not apply to this workload.
Result<void> reject_options(std::string_view workload,
                            std::initializer_list<std::pair<const char*, bool>> given) {
  for (const auto& [name, is_given] : given) {
    if (is_given) {
      return invalid(cat(name, " does not apply to the workload ", tangram::quoted(workload), "."));
    }
  }
  return {};
}

Result<void> set_node(const SimOptions& o, sim::Setting& setting) {
  if (o.gpus < 1 || o.gpus > kMaxGpus) {
    return invalid(fmt::format("--gpus must be from 1 to {}, not {}.", kMaxGpus, o.gpus));
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
  setting.knobs = sim::knobs_for(*setting.gpus.front().model);
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
    std::string hint = o.mix.empty() ? " Set the requested profiles with --mix." : "";
    return std::unexpected(Error{profile.error().code, profile.error().message + hint});
  }
  return mix;
}

void note_offered(const sim::Offered& offered, std::vector<std::string>& notes) {
  notes.push_back(fmt::format("offered load: compute slices {:.0f} %, PCIe links {:.0f} %{}",
                              100 * offered.compute, 100 * offered.links,
                              offered.busiest() >= 1 ? ": overloaded" : ""));
}

Result<void> plan_synthetic(const SimOptions& o, SimPlan& plan) {
  const auto fits = reject_options(
      o.workload, {{"--queries", !o.queries.empty()}, {"--speed-up", o.speed_up.has_value()}});
  if (!fits) return fits;
  sim::Synthetic s;
  const auto mix = mix_of(o, *plan.setting.gpus.front().model);
  if (!mix) return std::unexpected(mix.error());
  s.mix = *mix;
  s.tasks = o.jobs == 0 ? 1000 : o.jobs;
  const auto duration =
      check_range("--duration", o.duration_s.value_or(s.mean_duration_s), 1e-6, kMaxSeconds);
  const auto share =
      check_range("--transfer-share", o.transfer_share.value_or(s.transfer_share), 0, 1);
  const auto movable = check_range("--movable-share", o.movable_share.value_or(1), 0, 1);
  const auto sigma = check_range("--sigma", o.sigma.value_or(1), 0, 10);
  const auto load = check_range("--load", o.load.value_or(kDefaultLoad), 1e-3, 100);
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
    return invalid("--sigma requires --law lognormal.");
  }
  if (o.arrival_s && o.load) return invalid("--arrival and --load exclude each other.");
  s.mean_arrival_s = 1;
  const auto every_second = sim::offered_load(s, plan.setting);
  if (!every_second) return std::unexpected(every_second.error());
  const auto arrival = check_range(
      "--arrival", o.arrival_s.value_or(every_second->busiest() / *load), 1e-9, kMaxSeconds);
  if (!arrival) return std::unexpected(arrival.error());
  s.mean_arrival_s = *arrival;
  note_offered(*sim::offered_load(s, plan.setting), plan.notes);
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
  if (read.ec != std::errc{} || read.ptr != end || std::isnan(value) || value < 1 ||
      value > 60000) {
    return invalid(
        cat("--queries must be a number from 1 to 60000, not ", tangram::quoted(o.queries), "."));
  }
  return value;
}

Result<void> plan_paper(const SimOptions& o, sim::PaperWorkload paper, SimPlan& plan) {
  const auto fits = reject_options(o.workload, {{"--duration", o.duration_s.has_value()},
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
      check_range("--arrival", o.arrival_s.value_or(paper.mean_arrival_s), 1e-9, kMaxSeconds);
  if (!arrival) return std::unexpected(arrival.error());
  const auto load = check_range("--load", o.load.value_or(kDefaultLoad), 1e-3, 100);
  if (!load) return std::unexpected(load.error());
  if (o.load && !o.queries.empty()) return invalid("--load and --queries exclude each other.");
  const auto queries = queries_of(o, paper, plan.setting);
  if (!queries) return std::unexpected(queries.error());
  if (*queries > 60000) return invalid("more than 60000 queries per task; lower --load.");
  paper.mean_arrival_s = *arrival;
  paper.queries_per_task = *queries;
  plan.tasks = static_cast<std::uint64_t>(paper.tasks);
  plan.notes.push_back(fmt::format("{:.2f} queries per task on average{}", *queries,
                                   o.queries.empty() ? " (from the offered load)" : ""));
  plan.queries_per_task = *queries;
  const auto offered = sim::offered_load(paper, plan.setting);
  if (!offered) return std::unexpected(offered.error());
  note_offered(*offered, plan.notes);
  plan.workload = [paper](std::uint64_t seed) { return sim::generate(paper, seed); };
  return {};
}

void note_trace(const std::string& name, const sim::Trace& trace, std::vector<std::string>& notes) {
  notes.push_back(fmt::format("{}: {} rows, {} tasks", name, trace.rows, trace.tasks.size()));
  if (trace.left_out > 0) {
    notes.push_back(fmt::format("{} rows skipped: failures or too long", trace.left_out));
  }
  if (trace.bad_rows == 0) return;
  notes.push_back(fmt::format("{} bad rows skipped", trace.bad_rows));
  for (const sim::BadRow& bad : trace.first_bad) {
    notes.push_back(fmt::format("  line {}: {}", bad.line, bad.reason));
  }
}

Result<sim::TraceOptions> trace_options(const SimOptions& o, const sim::Setting& setting) {
  sim::TraceOptions options;
  options.seed = o.seed;
  const auto form = sim::parse_trace_form(o.form);
  if (!form) return std::unexpected(form.error());
  options.form = *form;
  options.skip_bad = o.skip_bad;
  options.max_tasks = o.jobs;
  const auto speed_up = check_range("--speed-up", o.speed_up.value_or(1), 1e-6, 1e9);
  if (!speed_up) return std::unexpected(speed_up.error());
  options.speed_up = *speed_up;
  const auto max_tokens =
      check_range("--most-tokens", o.max_tokens.value_or(options.max_tokens), 2, 1e9);
  if (!max_tokens) return std::unexpected(max_tokens.error());
  options.max_tokens = *max_tokens;
  if (!o.mix.empty()) {
    const auto mix = sim::parse_mix(o.mix);
    if (!mix) return std::unexpected(mix.error());
    options.mix = *mix;
  }
  if (!o.queries.empty()) {
    const auto queries = queries_of(o, {}, setting);
    if (!queries) return std::unexpected(queries.error());
    options.queries_per_task = *queries;
  }
  return options;
}

Result<void> plan_trace(const SimOptions& o, SimPlan& plan) {
  const auto fits = reject_options("trace", {{"--duration", o.duration_s.has_value()},
                                             {"--transfer-share", o.transfer_share.has_value()},
                                             {"--movable-share", o.movable_share.has_value()},
                                             {"--sigma", o.sigma.has_value()},
                                             {"--law", !o.law.empty()},
                                             {"--arrival", o.arrival_s.has_value()},
                                             {"--load", o.load.has_value()}});
  if (!fits) return fits;
  const auto checked = trace_options(o, plan.setting);
  if (!checked) return std::unexpected(checked.error());
  const sim::TraceOptions& options = *checked;
  auto file = os::read_file(o.trace, "trace", kLargestTrace);
  if (!file) return std::unexpected(file.error());
  const auto text = std::make_shared<const std::string>(std::move(*file));
  auto first = sim::read_trace(*text, o.trace, options);
  if (!first) return std::unexpected(first.error());
  note_trace(o.trace, *first, plan.notes);
  plan.tasks = first->tasks.size();
  if (first->form == sim::TraceForm::kPlain) {
    const auto used = reject_options("plain trace", {{"--mix", !o.mix.empty()},
                                                     {"--queries", !o.queries.empty()},
                                                     {"--most-tokens", o.max_tokens.has_value()}});
    if (!used) return used;
    plan.same_for_all_seeds = true;
  } else {
    const auto known = mix_of(o, *plan.setting.gpus.front().model);
    if (!known) return std::unexpected(known.error());
  }
  const auto shared = std::make_shared<const sim::Trace>(std::move(*first));
  plan.workload = [shared, text, options, name = o.trace](std::uint64_t seed) {
    const bool drawn = shared->form != sim::TraceForm::kPlain && seed != options.seed;
    if (!drawn) return sim::workload_of(shared->name, shared->profiles, shared->tasks);
    sim::TraceOptions again = options;
    again.seed = seed;
    auto trace = sim::read_trace(*text, name, again);
    CHECK(trace);  // the same text was read before
    return sim::workload_of(trace->name, trace->profiles, std::move(trace->tasks));
  };
  return {};
}

}  // namespace

Result<SimPlan> plan_simulation(const SimOptions& o) {
  SimPlan plan;
  auto done = set_node(o, plan.setting);
  if (done) done = set_policy(o, plan.setting);
  if (!done) return std::unexpected(done.error());
  if (o.jobs > kMaxJobs) {
    return invalid(fmt::format("--jobs must be at most {}.", kMaxJobs));
  }
  const mig::Model& model = *plan.setting.gpus.front().model;
  if (sim::find_hardware(model) == nullptr) {
    plan.notes.push_back(cat("no performance data for ", model.name(),
                             ": using that of the A100-40GB; see `tangram sim knobs`"));
  }
  if (!o.trace.empty()) {
    if (o.workload != "synthetic") return invalid("--trace and --workload exclude each other.");
    done = plan_trace(o, plan);
  } else if (o.skip_bad || o.form != "auto" || o.max_tokens) {
    done = invalid("--skip-bad, --form and --most-tokens require --trace.");
  } else if (o.workload == "synthetic") {
    done = plan_synthetic(o, plan);
  } else {
    auto paper = sim::paper_workload(o.workload);
    if (!paper) {
      return not_found(cat("unknown workload ", tangram::quoted(o.workload), ". Known: synthetic, ",
                           join_words(sim::paper_workload_names()), "; for a file use --trace."));
    }
    done = plan_paper(o, *paper, plan);
  }
  if (!done) return std::unexpected(done.error());
  return plan;
}

}  // namespace tangram::cli
