// The verbs of `tangram`. Each has a file of its own that adds its options to the command line
// and says what to run when it is chosen. One rule: a verb prints into an Output and returns; it
// neither writes to standard output nor exits.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/error.hpp"
#include "cli/output.hpp"

namespace tangram::cli {

// What the command line asked for.
struct Command {
  OutputOptions output;
  bool json = false;
  const CLI::App* root = nullptr;                  // of all verbs
  std::string typed;                               // the whole command line, for reports
  std::vector<std::string> trailing;               // what stood after "--": a command of the user's
  std::function<Result<void>(Output&)> run;        // empty: no verb was named
  int exit_code = 0;                               // of a verb that succeeded: a job's, for example
  std::optional<int> failure_code;                 // of one that did not, instead of the usual ones
  std::optional<std::chrono::milliseconds> watch;  // run it so often, until it is interrupted
};

// --json, --color and --ascii, which nearly every verb has.
void add_output_options(CLI::App& verb, Command& command);
// Those without --json.
void add_drawing_options(CLI::App& verb, Command& command);

void add_mig_models(CLI::App& mig, Command& command);
void add_mig_show(CLI::App& mig, Command& command);
void add_mig_frag(CLI::App& mig, Command& command);
void add_mig_layouts(CLI::App& mig, Command& command);
void add_mig_place(CLI::App& mig, Command& command);
void add_policies(CLI::App& app, Command& command);
void add_decide(CLI::App& app, Command& command);
void add_sim_run(CLI::App& sim, Command& command);
void add_sim_compare(CLI::App& sim, Command& command);
void add_sim_sweep(CLI::App& sim, Command& command);
void add_sim_knobs(CLI::App& sim, Command& command);
void add_lab(CLI::App& app, Command& command);
void add_device_list(CLI::App& device, Command& command);
void add_device_instances(CLI::App& device, Command& command);
void add_device_create(CLI::App& device, Command& command);
void add_device_destroy(CLI::App& device, Command& command);
void add_device_prepare(CLI::App& device, Command& command);
void add_device_doctor(CLI::App& device, Command& command);
void add_device_bench(CLI::App& device, Command& command);
void add_node(CLI::App& app, Command& command);
void add_emulate(CLI::App& app, Command& command);
void add_store(CLI::App& app, Command& command);
void add_submit(CLI::App& app, Command& command);
void add_run(CLI::App& app, Command& command);
void add_ps(CLI::App& app, Command& command);
void add_show(CLI::App& app, Command& command);
void add_logs(CLI::App& app, Command& command);
void add_wait(CLI::App& app, Command& command);
void add_cancel(CLI::App& app, Command& command);
void add_signal(CLI::App& app, Command& command);
void add_move(CLI::App& app, Command& command);
void add_defrag(CLI::App& app, Command& command);
void add_gpus(CLI::App& app, Command& command);
void add_status(CLI::App& app, Command& command);
void add_hold(CLI::App& app, Command& command);
void add_release(CLI::App& app, Command& command);
void add_explain(CLI::App& app, Command& command);
void add_what_if(CLI::App& app, Command& command);
void add_events(CLI::App& app, Command& command);
void add_history(CLI::App& app, Command& command);
void add_usage(CLI::App& app, Command& command);
void add_lease(CLI::App& app, Command& command);
void add_token(CLI::App& app, Command& command);
void add_tune(CLI::App& app, Command& command);
void add_cordon(CLI::App& app, Command& command);
void add_uncordon(CLI::App& app, Command& command);
void add_drain(CLI::App& app, Command& command);
void add_top(CLI::App& app, Command& command);
void add_completion(CLI::App& app, Command& command);
void add_man(CLI::App& app, Command& command);

}  // namespace tangram::cli
