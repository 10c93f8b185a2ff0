// `tangram sim run`: simulates one workload under one policy; prints a summary and optionally
// writes jobs, timeline and moves to files.
#include <atomic>
#include <chrono>
#include <cmath>
#include <concepts>
#include <cstdio>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "base/text.hpp"
#include "cli/command/progress.hpp"
#include "cli/command/row_file.hpp"
#include "cli/command/verbs.hpp"
#include "cli/sim/sim_options.hpp"
#include "core/transcript.hpp"
#include "sim/llm.hpp"
#include "text/json_text.hpp"

namespace tangram::cli {
namespace {

namespace json = boost::json;

struct RunOptions {
  SimOptions sim;
  std::string jobs_out;
  std::string timeline_out;
  std::string moves_out;
  double every_s = 0;
};

struct Files {
  RowFile jobs;
  RowFile timeline;
  RowFile moves;
};

Result<void> open_files(const RunOptions& o, const std::vector<std::string>& profiles, Files& f) {
  const bool same =
      (!o.jobs_out.empty() && (o.jobs_out == o.timeline_out || o.jobs_out == o.moves_out)) ||
      (!o.timeline_out.empty() && o.timeline_out == o.moves_out);
  if (same) return invalid("--jobs-out, --timeline-out and --moves-out need different files.");
  Result<void> opened;
  if (!o.jobs_out.empty()) {
    opened =
        f.jobs.open(o.jobs_out, {"id", "profile", "model", "arrival_s", "placed_s", "ready_s",
                                 "finished_s", "wait_s", "execution_s", "tpot_s", "gpu", "moves"});
  }
  if (opened && !o.timeline_out.empty()) {
    std::vector<std::string> columns{"time_s", "fragmentation", "compute_used", "waiting", "live"};
    for (const std::string& p : profiles) {
      columns.push_back("desired " + p);
      columns.push_back("actual " + p);
    }
    opened = f.timeline.open(o.timeline_out, std::move(columns));
  }
  if (opened && !o.moves_out.empty()) {
    opened = f.moves.open(o.moves_out, {"time_s", "job", "kind", "news", "from", "to", "start"});
  }
  return opened;
}

Field number(double value) { return {fmt::format("{:.6f}", value), false}; }
Field number(std::integral auto value) { return {std::to_string(value), false}; }
Field word(std::string_view text) { return {std::string(text), true}; }

sim::Observer observer_of(const RunOptions& o, Files& f) {
  sim::Observer observer;
  observer.sample_every_s = o.every_s;
  if (f.jobs.is_open()) {
    observer.job = [&f](const sim::JobRow& j) {
      f.jobs.row({number(j.id), word(j.profile), word(j.model), number(j.arrival_s),
                  number(j.placed_s), number(j.ready_s), number(j.finished_s),
                  number(j.placed_s - j.arrival_s), number(j.finished_s - j.placed_s),
                  number(j.tpot_s), number(j.gpu), number(j.moves)});
    };
  }
  if (f.timeline.is_open()) {
    observer.sample = [&f](const sim::Sample& s) {
      std::vector<Field> fields{number(s.at_s), number(s.fragmentation), number(s.compute_used),
                                number(s.waiting), number(s.live)};
      for (std::size_t i = 0; i < s.desired.size(); ++i) {
        fields.push_back(number(s.desired[i]));
        fields.push_back(number(s.actual[i]));
      }
      f.timeline.row(fields);
    };
  }
  if (f.moves.is_open()) {
    observer.move = [&f](const sim::MoveRow& m) {
      f.moves.row({number(m.at_s), number(m.job), word(core::name_of(m.report.kind)),
                   word(core::name_of(m.report.news)), number(m.report.from.value()),
                   number(m.report.to.value()), number(int{m.report.start})});
    };
  }
  return observer;
}

json::object distribution_json(const sim::Distribution& d) {
  return {{"mean", d.mean()},
          {"p50", d.quantile(0.5)},
          {"p95", d.quantile(0.95)},
          {"p99", d.quantile(0.99)},
          {"max", d.largest()}};
}

json::object summary_json(const SimOptions& o, const SimPlan& plan, const sim::Summary& s) {
  json::object tpot;
  for (std::size_t i = 0; i < s.tpot.size(); ++i) {
    if (s.tpot[i].count() > 0) tpot[sim::language_models()[i].name] = s.tpot[i].mean();
  }
  return {{"workload", o.trace.empty() ? o.workload : o.trace},
          {"policy", o.policy},
          {"migration", o.migration},
          {"gpus", o.gpus},
          {"gpu_model", o.gpu_model},
          {"seed", o.seed},
          {"notes", json::array(plan.notes.begin(), plan.notes.end())},
          {"jobs", s.submitted},
          {"refused", s.refused},
          {"wait_s", distribution_json(s.wait)},
          {"execution_s", distribution_json(s.execution)},
          {"makespan_s", distribution_json(s.makespan)},
          {"tpot_s", std::move(tpot)},
          {"moves", json::object{{"intra", s.intra_moves},
                                 {"inter", s.inter_moves},
                                 {"done", s.moves_done},
                                 {"ended_early", s.moves_ended_early}}},
          {"instances", json::object{{"created", s.created},
                                     {"destroyed", s.destroyed},
                                     {"starts", s.starts},
                                     {"in_use_waits", s.in_use_waits}}},
          {"fragmentation", s.fragmentation},
          {"compute_used", s.compute_used},
          {"waiting", s.waiting},
          {"end_s", s.end_s},
          {"most_live", s.max_live},
          {"steps", s.steps}};
}

std::string seconds(double s) { return fmt::format("{:.1f}", s); }

void print_summary(const RunOptions& o, const SimPlan& plan, const sim::Summary& s, double took,
                   Output& out) {
  const SimOptions& sim = o.sim;
  out.line(
      out.paint(fmt::format("{} on {} × {}, {} placement, migration {}",
                            sim.trace.empty() ? sim.workload : sim.trace, sim.gpus,
                            plan.setting.gpus.front().model->name(), sim.policy, sim.migration),
                Style::kBold));
  for (const std::string& note : plan.notes) out.line("  " + note);
  out.line();
  Table times({{"SECONDS"},
               {"MEAN", Align::kRight},
               {"P50", Align::kRight},
               {"P95", Align::kRight},
               {"P99", Align::kRight},
               {"MAX", Align::kRight}});
  const auto row = [&](const char* name, const sim::Distribution& d) {
    times.row({name, seconds(d.mean()), seconds(d.quantile(0.5)), seconds(d.quantile(0.95)),
               seconds(d.quantile(0.99)), seconds(d.largest())});
  };
  row("wait", s.wait);
  row("execution", s.execution);
  row("makespan", s.makespan);
  times.print(out);
  out.line();
  Table facts({{"RESULT"}, {"VALUE"}});
  facts.row({"jobs", s.refused == 0 ? fmt::format("{}", s.submitted)
                                    : fmt::format("{}, {} of them rejected: no GPU of the node has "
                                                  "their profile",
                                                  s.submitted, s.refused)});
  for (std::size_t i = 0; i < s.tpot.size(); ++i) {
    if (s.tpot[i].count() == 0) continue;
    facts.row({fmt::format("{} per token", sim::language_models()[i].name),
               fmt::format("{:.0f} ms", 1e3 * s.tpot[i].mean())});
  }
  facts.row(
      {"moves", fmt::format("{} intra-GPU, {} inter-GPU; {} done, {} ended early", s.intra_moves,
                            s.inter_moves, s.moves_done, s.moves_ended_early)});
  facts.row({"instances",
             fmt::format("{} created, {} destroyed; {} starts", s.created, s.destroyed, s.starts)});
  facts.row({"FragCost", fmt::format("{:.4f}, mean over GPUs and time", s.fragmentation)});
  facts.row({"compute slices", fmt::format("{:.1f} % held", 100 * s.compute_used)});
  facts.row({"waiting", fmt::format("{:.2f} jobs on average", s.waiting)});
  facts.row(
      {"simulated", fmt::format("{:.0f} s in {:.2f} s: {} steps, {:.0f} jobs/s", s.end_s, took,
                                s.steps, took > 0 ? static_cast<double>(s.submitted) / took : 0)});
  facts.print(out);
}

Result<void> run(const RunOptions& o, bool as_json, Output& out) {
  if (std::isnan(o.every_s) || o.every_s < 0 || o.every_s > 1e9)
    return invalid("--every must be from 0 to 1e9 seconds.");
  if (o.every_s > 0 && o.timeline_out.empty()) return invalid("--every requires --timeline-out.");
  const auto plan = plan_simulation(o.sim);
  if (!plan) return std::unexpected(plan.error());
  const sim::Workload workload = plan->workload(o.sim.seed);
  Files files;
  const auto opened = open_files(o, workload.profiles, files);
  if (!opened) return opened;
  sim::Observer observer = observer_of(o, files);
  std::atomic<std::uint64_t> finished = 0;
  observer.finished = &finished;
  const auto begin = std::chrono::steady_clock::now();
  Result<sim::Summary> summary = failed("not run");
  {
    const ProgressBar bar(
        [&] { return ProgressState{"simulating", finished.load(), plan->tasks}; });
    summary = sim::simulate(plan->setting, workload, observer);
  }
  if (!summary) return std::unexpected(summary.error());
  const double took =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  for (RowFile* file : {&files.jobs, &files.timeline, &files.moves}) {
    const auto closed = file->close();
    if (!closed) return closed;
  }
  if (as_json) {
    out.add(text::json_text(summary_json(o.sim, *plan, *summary)));
  } else {
    print_summary(o, *plan, *summary, took, out);
  }
  return {};
}

}  // namespace

void add_sim_run(Verb& sim, Command& command) {
  Verb verb = sim.add_subcommand("run", "Simulate one workload under one policy");
  const auto options = std::make_shared<RunOptions>();
  add_sim_options(*verb, options->sim);
  const char* group = "Files";
  verb->add_option("--jobs-out", options->jobs_out,
                   "Write all jobs as CSV, or as JSON Lines if FILE ends in .jsonl")
      ->option_text("FILE")
      ->group(group);
  verb->add_option("--timeline-out", options->timeline_out,
                   "Write fragmentation, utilisation, waiting jobs and instances over time")
      ->option_text("FILE")
      ->group(group);
  verb->add_option("--moves-out", options->moves_out, "Write all moves")
      ->option_text("FILE")
      ->group(group);
  verb->add_option("--every", options->every_s,
                   "Seconds between samples of the timeline (default: at every change)")
      ->option_text("S")
      ->group(group);
  add_output_options(*verb, command);
  verb->footer(
      "Examples:\n"
      "  tangram sim run --workload normal25 --restraint none\n"
      "  tangram sim run --gpus 10000 --jobs 1000000\n"
      "  tangram sim run --trace jobs.csv --policy best-fit --jobs-out out.csv");
  verb->callback([&command, options] {
    command.run = [&command, options](Output& out) { return run(*options, command.json, out); };
  });
}

}  // namespace tangram::cli
