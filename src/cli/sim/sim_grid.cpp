// See sim_grid.hpp.
#include "cli/sim/sim_grid.hpp"

#include <atomic>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "base/text.hpp"
#include "cli/command/progress.hpp"
#include "lab/results.hpp"
#include "sim/statistics.hpp"
#include "sim/trials.hpp"
#include "text/json_text.hpp"

namespace tangram::cli {
namespace {

namespace json = boost::json;

constexpr std::uint32_t kMaxSeeds = 1'000'000;

struct CellResult {
  std::string row;
  std::string label;
  std::vector<double> wait;  // means, by seed
  std::vector<double> execution;
  std::vector<double> makespan;
  std::vector<double> wait_p95;
  std::vector<double> fragmentation;
  std::vector<double> moves;
  std::uint64_t refused = 0;
};

std::string shown(const std::vector<double>& values, int digits) {
  return lab::with_interval(sim::estimate(values), digits);
}

json::object estimate_json(const std::vector<double>& values) {
  return lab::to_json(sim::estimate(values));
}

// The baseline: the first cell of the same row.
const CellResult& base_of(const std::vector<CellResult>& cells, std::size_t i) {
  while (i > 0 && cells[i - 1].row == cells[i].row) --i;
  return cells[i];
}

Result<std::vector<CellResult>> run_grid(const std::vector<GridCell>& cells, const GridOptions& o) {
  if (o.seeds < 1 || o.seeds > kMaxSeeds) {
    return invalid(fmt::format("--seeds must be from 1 to {}, not {}.", kMaxSeeds, o.seeds));
  }
  if (o.threads > 1024) return invalid("--threads must be at most 1024.");
  std::vector<sim::Trial> trials;
  std::uint64_t tasks = 0;
  for (const GridCell& cell : cells) {
    for (std::uint32_t s = 0; s < o.seeds; ++s) {
      trials.push_back(
          {cell.plan.setting, [&cell, seed = o.sim.seed + s] { return cell.plan.workload(seed); }});
      tasks += cell.plan.tasks;
    }
  }
  std::vector<CellResult> results;
  for (const GridCell& cell : cells) {
    CellResult result;
    result.row = cell.row;
    result.label = cell.label;
    for (auto* values : {&result.wait, &result.execution, &result.makespan, &result.wait_p95,
                         &result.fragmentation, &result.moves}) {
      values->resize(o.seeds);
    }
    results.push_back(std::move(result));
  }
  std::vector<std::uint64_t> refused(trials.size());
  std::atomic<std::uint64_t> finished = 0;
  const auto keep = [&](std::size_t i, const sim::Summary& s) {
    CellResult& r = results[i / o.seeds];
    const std::size_t seed = i % o.seeds;
    r.wait[seed] = s.wait.mean();
    r.execution[seed] = s.execution.mean();
    r.makespan[seed] = s.makespan.mean();
    r.wait_p95[seed] = s.wait.quantile(0.95);
    r.fragmentation[seed] = s.fragmentation;
    r.moves[seed] = static_cast<double>(s.moves_done);
    refused[i] = s.refused;
  };
  {
    const ProgressBar bar([&] { return ProgressState{"simulating", finished.load(), tasks}; });
    const auto done = sim::run_trials(trials, {.threads = o.threads, .finished = &finished}, keep);
    if (!done) return std::unexpected(done.error());
  }
  for (std::size_t i = 0; i < refused.size(); ++i) results[i / o.seeds].refused += refused[i];
  return results;
}

void print_grid(const std::vector<CellResult>& cells, const std::string& varied, Output& out) {
  std::vector<Column> columns;
  if (!varied.empty()) columns.push_back({varied, Align::kRight});
  for (const char* heading : {"POLICY", "WAIT", "EXECUTION", "MAKESPAN", "REDUCTION", "MOVES"}) {
    columns.push_back(
        {heading, std::string_view(heading) == "POLICY" ? Align::kLeft : Align::kRight});
  }
  Table table(columns);
  std::uint64_t refused = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const CellResult& cell = cells[i];
    const CellResult& base = base_of(cells, i);
    std::vector<Cell> row;
    if (!varied.empty()) row.emplace_back(&base == &cell ? cell.row : std::string());
    row.emplace_back(cell.label, Style::kCyan);
    row.emplace_back(shown(cell.wait, 1));
    row.emplace_back(shown(cell.execution, 1));
    row.emplace_back(shown(cell.makespan, 1));
    const sim::Estimate reduction = sim::reduction(base.makespan, cell.makespan);
    row.emplace_back(&base == &cell ? std::string("-") : lab::percent(reduction));
    row.emplace_back(shown(cell.moves, 1));
    table.row(std::move(row));
    refused += cell.refused;
  }
  table.print(out);
  out.line();
  out.line("Seconds per job, mean ± 95 % confidence interval over the seeds. REDUCTION: of the");
  out.line("makespan (wait + execution) against the first policy, paired by seed.");
  if (refused > 0)
    out.line(fmt::format("{} jobs were rejected: no GPU of the node has their profile.", refused));
}

std::string grid_json(const std::vector<CellResult>& cells, const std::string& varied,
                      const GridOptions& o) {
  json::array rows;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const CellResult& cell = cells[i];
    const sim::Estimate reduction = sim::reduction(base_of(cells, i).makespan, cell.makespan);
    json::object row;
    if (!varied.empty()) row[varied] = cell.row;
    row["policy"] = cell.label;
    row["wait_s"] = estimate_json(cell.wait);
    row["wait_p95_s"] = estimate_json(cell.wait_p95);
    row["execution_s"] = estimate_json(cell.execution);
    row["makespan_s"] = estimate_json(cell.makespan);
    row["makespan_reduction"] = lab::to_json(reduction);
    row["fragmentation"] = estimate_json(cell.fragmentation);
    row["moves"] = estimate_json(cell.moves);
    row["refused"] = cell.refused;
    rows.push_back(std::move(row));
  }
  return text::json_text(
      json::object{{"workload", o.sim.trace.empty() ? o.sim.workload : o.sim.trace},
                   {"first_seed", o.sim.seed},
                   {"seeds", o.seeds},
                   {"rows", std::move(rows)}});
}

}  // namespace

void add_grid_options(Verb& verb, GridOptions& o) {
  add_sim_options(verb, o.sim);
  verb.add_option("--policies", o.policies,
                  "Policies to compare: PLACEMENT or PLACEMENT/MIGRATION, separated by commas; the "
                  "first is the baseline")
      ->delimiter(',')
      ->option_text("A,B/off,…")
      ->group("Policy");
  verb.add_option("--seeds", o.seeds, "Number of seeds, the same for all policies (default: 10)")
      ->option_text("N")
      ->group("World");
  verb.add_option("--threads", o.threads,
                  "Threads (default: one per core); results do not depend on it")
      ->option_text("N")
      ->group("World");
}

Result<void> add_row(const GridOptions& o, const std::string& value,
                     const std::function<Result<void>(SimOptions&)>& change,
                     std::vector<GridCell>& cells) {
  std::vector<std::string> policies = o.policies;
  if (policies.empty()) policies.push_back(cat(o.sim.policy, "/", o.sim.migration));
  for (const std::string& policy : policies) {
    SimOptions options = o.sim;
    const std::size_t slash = policy.find('/');
    options.policy = policy.substr(0, slash);
    if (slash != std::string::npos) options.migration = policy.substr(slash + 1);
    if (change) {
      const auto changed = change(options);
      if (!changed) return changed;
    }
    auto plan = plan_simulation(options);
    if (!plan) return std::unexpected(plan.error());
    cells.push_back({value, policy, std::move(*plan)});
  }
  return {};
}

Result<void> run_and_print(std::vector<GridCell>& cells, GridOptions o, const std::string& varied,
                           bool as_json, Output& out) {
  if (cells.front().plan.same_for_all_seeds && o.seeds > 1) {
    o.seeds = 1;
    cells.front().plan.notes.emplace_back("this trace has no random part: one run each");
  }
  const auto results = run_grid(cells, o);
  if (!results) return std::unexpected(results.error());
  if (as_json) {
    out.add(grid_json(*results, varied, o));
    return {};
  }
  for (const std::string& note : cells.front().plan.notes) out.line(note);
  print_grid(*results, varied, out);
  return {};
}

}  // namespace tangram::cli
