// `tangram defrag`: the moves that would bring the node's FragCost down, shown or made. One rule:
// after every move the plan is made anew, because meanwhile the node has changed.
#include <csignal>
#include <cstdio>
#include <unistd.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "base/text.hpp"
#include "cli/daemon_link.hpp"
#include "cli/job_text.hpp"
#include "cli/move_follow.hpp"
#include "cli/tangram.hpp"
#include "files/json_text.hpp"

namespace tangram::cli {
namespace {

namespace json = boost::json;

struct Options {
  DaemonOptions daemon;
  bool plan = false;
  bool apply = false;
  std::uint32_t most = 20;
};

Result<json::value> ask_plan(const Options& options, std::uint32_t most) {
  return ask(options.daemon, "GET", cat("/v1/defrag?most=", most));
}

Result<api::DefragPlan> next_step(const Options& options) {
  const auto answer = ask_plan(options, 1);
  if (!answer) return std::unexpected(answer.error());
  return api::read_defrag_plan(*answer);
}

std::string total_line(double before, double after, std::size_t moves, const Output& out) {
  return fmt::format("FragCost {:.2f} {} {:.2f} with {} {}", before, out.sign("→", "->"), after,
                     moves, moves == 1 ? "move" : "moves");
}

std::string nothing_line(double cost) {
  return fmt::format("nothing to do: no move would lower the FragCost of {:.2f}", cost);
}

void print(const api::DefragPlan& plan, Output& out) {
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
               harmless(step.name), harmless(step.profile), slot_text(step.from),
               slot_text(step.to), fmt::format("{:.3f}", step.gain)});
  }
  table.print(out);
  out.line(total_line(plan.frag_cost_before, plan.frag_cost_after, plan.steps.size(), out));
}

// The moves, one after the other.
class Apply {
 public:
  Apply(const Options& options, Command& command, Output& out)
      : options_(options), command_(command), out_(out) {}

  Result<void> go() {
    const SignalWatch signals({SIGINT, SIGTERM});
    std::optional<double> before;
    while (true) {
      const auto plan = next_step(options_);
      if (!plan) return std::unexpected(plan.error());
      after_ = plan->frag_cost_before;
      if (!before) before = after_;
      if (plan->steps.empty() || made_ == options_.most) break;
      const auto goes_on = make(plan->steps.front(), signals);
      if (!goes_on) return std::unexpected(goes_on.error());
      if (!*goes_on) break;
    }
    finish(*before);
    return {};
  }

 private:
  // False: that was the last one.
  Result<bool> make(const api::DefragStepView& step, const SignalWatch& signals) {
    const auto begun = begin_move(options_.daemon, step.job, {step.to});
    if (!begun) {  // what has become impossible is not in the next plan
      const bool again = refused_ == step;
      const bool may_pass =
          begun.error().code == ErrorCode::kFailed || begun.error().code == ErrorCode::kNotFound;
      refused_ = step;
      if (may_pass && !again) return true;
      return std::unexpected(begun.error());
    }
    const auto end = await_end(options_.daemon, *begun, signals);
    if (!end) return std::unexpected(end.error());
    if (!*end) {
      say_it_goes_on(step.job);
      command_.exit_code = 128 + SIGINT;
      return false;
    }
    return note(step, **end);
  }

  bool note(const api::DefragStepView& step, const EndedMove& end) {
    json::value row = to_json(api::DefragPlan{.steps = {step}}).at("steps").at(0);
    row.as_object()["result"] = end.result;
    row.as_object()["took"] =
        api::duration_text(std::chrono::duration_cast<std::chrono::milliseconds>(end.took));
    rows_.push_back(std::move(row));
    if (end.rolled_back()) {
      fmt::print(stderr, "tangram: {}. See `tangram show {}`.\n", harmless(end.text), step.job);
      command_.exit_code = kExitFailure;
      return false;
    }
    ++made_;
    if (command_.json) return true;
    const std::string result = end.result == "done" ? "done" : "done, its replica took over";
    return write_now(STDOUT_FILENO, cat(made_, "  job ", step.job, " (", harmless(step.name),
                                        ") from ", slot_text(step.from), " to ", slot_text(step.to),
                                        ": ", result, " in ", took_text(end.took), "\n"));
  }

  void finish(double before) {
    if (command_.json) {
      out_.add(files::json_text(json::object{
          {"frag_cost_before", before}, {"frag_cost_after", after_}, {"steps", std::move(rows_)}}));
    } else if (rows_.empty() && command_.exit_code == 0) {
      out_.line(nothing_line(before));
    } else if (command_.exit_code == 0) {
      out_.line(total_line(before, after_, made_, out_));
    }
  }

  const Options& options_;
  Command& command_;
  Output& out_;
  std::uint32_t made_ = 0;
  double after_ = 0;
  std::optional<api::DefragStepView> refused_;
  json::array rows_;
};

Result<void> defrag(const Options& options, Command& command, Output& out) {
  if (options.apply) return Apply(options, command, out).go();
  const auto answer = ask_plan(options, options.most);
  if (!answer) return std::unexpected(answer.error());
  return show<api::DefragPlan>(*answer, api::read_defrag_plan, print, command, out);
}

}  // namespace

void add_defrag(Verb& app, Command& command) {
  const auto options = std::make_shared<Options>();
  Verb verb = add_daemon_verb(app, command, "defrag",
                              "Show or make the moves that bring FragCost down", options, defrag);
  verb->add_flag("--plan", options->plan, "Show them (the default)");
  verb->add_flag("--apply", options->apply, "Make them, one after the other")->excludes("--plan");
  verb->add_option("--most", options->most, "At most so many moves, 1 to 100 (default: 20)")
      ->between(1, 100)
      ->option_text("N");
  verb->footer(
      "Examples:\n"
      "  tangram defrag\n"
      "  tangram defrag --apply --most 3\n"
      "Every move alone lowers the FragCost, so it may be stopped after any of them. It\n"
      "stops by itself, with exit code 1, when one is rolled back. Jobs that are pinned\n"
      "or cannot be moved stay where they are.");
}

}  // namespace tangram::cli
