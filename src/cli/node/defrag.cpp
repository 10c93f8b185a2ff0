// `tangram defrag`: shows or makes the moves that lower the node's FragCost. With --apply the plan
// is requested again after each move, because the node may have changed meanwhile.
#include <csignal>
#include <cstdio>
#include <unistd.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "base/text.hpp"
#include "cli/client/daemon_link.hpp"
#include "cli/client/job_text.hpp"
#include "cli/client/move_follow.hpp"
#include "cli/command/exit_codes.hpp"
#include "text/json_text.hpp"

namespace tangram::cli {
namespace {

namespace json = boost::json;

struct DefragOptions {
  DaemonOptions daemon;
  bool plan = false;
  bool apply = false;
  std::uint32_t most = 20;
};

Result<json::value> get_plan(const DefragOptions& options, std::uint32_t most) {
  return request_json(options.daemon, "GET", cat("/v1/defrag?most=", most));
}

Result<api::DefragPlan> next_step(const DefragOptions& options) {
  const auto answer = get_plan(options, 1);
  if (!answer) return std::unexpected(answer.error());
  return api::read_defrag_plan(*answer);
}

std::string summary_line(double before, double after, std::size_t moves, const Output& out) {
  return fmt::format("FragCost {:.2f} {} {:.2f} with {} {}", before, out.sign("→", "->"), after,
                     moves, moves == 1 ? "move" : "moves");
}

std::string nothing_line(double cost) {
  return fmt::format("nothing to do: no move would lower the FragCost of {:.2f}", cost);
}

void print_plan(const api::DefragPlan& plan, Output& out) {
  if (plan.steps.empty()) {
    out.line(nothing_line(plan.frag_cost_before));
    return;
  }
  Table table({{"STEP", Align::kRight, 0},
               {"JOB", Align::kRight},
               {"NAME"},
               {"PROFILE"},
               {"FROM"},
               {"TO"},
               {"GAIN", Align::kRight}});
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const api::DefragStepView& step = plan.steps[i];
    table.row({std::to_string(i + 1), Cell(std::to_string(step.job), Style::kBold),
               terminal_safe(step.name), terminal_safe(step.profile), slot_text(step.from),
               slot_text(step.to), fmt::format("{:.3f}", step.gain)});
  }
  table.print(out);
  out.line(summary_line(plan.frag_cost_before, plan.frag_cost_after, plan.steps.size(), out));
}

// Makes the moves one after the other.
class DefragRun {
 public:
  DefragRun(const DefragOptions& options, Command& command, Output& out)
      : options_(options), command_(command), out_(out) {}

  Result<void> run() {
    const SignalWatch signals({SIGINT, SIGTERM});
    std::optional<double> before;
    while (true) {
      const auto plan = next_step(options_);
      if (!plan) return std::unexpected(plan.error());
      after_ = plan->frag_cost_before;
      if (!before) before = after_;
      if (plan->steps.empty() || made_ == options_.most) break;
      const auto continues = make_move(plan->steps.front(), signals);
      if (!continues) return std::unexpected(continues.error());
      if (!*continues) break;
    }
    finish(*before);
    return {};
  }

 private:
  // Returns false if no further move is to be made.
  Result<bool> make_move(const api::DefragStepView& step, const SignalWatch& signals) {
    const auto started = start_move(options_.daemon, step.job, {step.to});
    if (!started) {  // a move that has become impossible is not in the next plan
      const bool again = rejected_ == step;
      const bool may_pass = started.error().code == ErrorCode::kFailed ||
                            started.error().code == ErrorCode::kNotFound;
      rejected_ = step;
      if (may_pass && !again) return true;
      return std::unexpected(started.error());
    }
    const auto end = wait_for_move(options_.daemon, *started, signals);
    if (!end) return std::unexpected(end.error());
    if (!*end) {
      report_move_continues(step.job);
      command_.exit_code = 128 + SIGINT;
      return false;
    }
    return report(step, **end);
  }

  // Records and prints the result of a move. Returns false after a rollback.
  bool report(const api::DefragStepView& step, const FinishedMove& end) {
    json::value row = to_json(api::DefragPlan{.steps = {step}}).at("steps").at(0);
    row.as_object()["result"] = end.result;
    row.as_object()["took"] =
        api::duration_text(std::chrono::duration_cast<std::chrono::milliseconds>(end.took));
    rows_.push_back(std::move(row));
    if (end.rolled_back()) {
      fmt::print(stderr, "tangram: {}. See `tangram show {}`.\n", terminal_safe(end.text),
                 step.job);
      command_.exit_code = kExitFailure;
      return false;
    }
    ++made_;
    if (command_.json) return true;
    const std::string result = end.result == "done" ? "done" : "done, the replica took over";
    return write_now(STDOUT_FILENO, cat(made_, "  job ", step.job, " (", terminal_safe(step.name),
                                        ") from ", slot_text(step.from), " to ", slot_text(step.to),
                                        ": ", result, " in ", elapsed_text(end.took), "\n"));
  }

  void finish(double before) {
    if (command_.json) {
      out_.add(text::json_text(json::object{
          {"frag_cost_before", before}, {"frag_cost_after", after_}, {"steps", std::move(rows_)}}));
    } else if (rows_.empty() && command_.exit_code == 0) {
      out_.line(nothing_line(before));
    } else if (command_.exit_code == 0) {
      out_.line(summary_line(before, after_, made_, out_));
    }
  }

  const DefragOptions& options_;
  Command& command_;
  Output& out_;
  std::uint32_t made_ = 0;
  double after_ = 0;
  std::optional<api::DefragStepView> rejected_;
  json::array rows_;
};

Result<void> defrag(const DefragOptions& options, Command& command, Output& out) {
  if (options.apply) return DefragRun(options, command, out).run();
  const auto answer = get_plan(options, options.most);
  if (!answer) return std::unexpected(answer.error());
  return show<api::DefragPlan>(*answer, api::read_defrag_plan, print_plan, command, out);
}

}  // namespace

void add_defrag(Verb& app, Command& command) {
  const auto options = std::make_shared<DefragOptions>();
  Verb verb = add_daemon_verb(app, command, "defrag", "Show or make moves that lower FragCost",
                              options, defrag);
  verb->add_flag("--plan", options->plan, "Show the moves (the default)");
  verb->add_flag("--apply", options->apply, "Make the moves, one after the other")
      ->excludes("--plan");
  verb->add_option("--most", options->most, "Maximum number of moves, 1 to 100 (default: 20)")
      ->between(1, 100)
      ->option_text("N");
  verb->footer(
      "Examples:\n"
      "  tangram defrag\n"
      "  tangram defrag --apply --most 3\n"
      "Each move lowers FragCost by itself, so you can interrupt between moves. Stops\n"
      "with exit code 1 if a move is rolled back. Pinned jobs and jobs that cannot be\n"
      "moved stay where they are.");
}

}  // namespace tangram::cli
