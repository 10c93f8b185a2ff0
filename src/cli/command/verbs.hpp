// The verbs of `tangram`. Each add_… function declares one verb with its options and sets
// Command::run if the verb is chosen. A verb prints into an Output and returns; it does not exit,
// and writes to standard output itself only while it streams.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "cli/command/command_line.hpp"
#include "cli/command/output.hpp"

namespace tangram::cli {

// The parsed command line.
struct Command {
  OutputOptions output;
  bool json = false;
  const CLI::App* root = nullptr;                  // the tree of verbs
  std::string typed;                               // the whole command line, for reports
  std::vector<std::string> trailing;               // the user's command, of verbs that run one
  std::function<Result<void>(Output&)> run;        // empty: no verb was named
  int exit_code = 0;                               // after success, e.g. that of a job
  std::optional<int> failure_code;                 // after an error, instead of 1 or 2
  std::optional<std::chrono::milliseconds> watch;  // repeat at this interval until interrupted
};

// Adds --json, --color and --ascii.
void add_output_options(Verb& verb, Command& command);
// Adds --color and --ascii.
void add_drawing_options(Verb& verb, Command& command);

void add_mig_models(Verb& mig, Command& command);
void add_mig_show(Verb& mig, Command& command);
void add_mig_frag(Verb& mig, Command& command);
void add_mig_layouts(Verb& mig, Command& command);
void add_mig_place(Verb& mig, Command& command);
void add_policies(Verb& app, Command& command);
void add_decide(Verb& app, Command& command);
void add_sim_run(Verb& sim, Command& command);
void add_sim_compare(Verb& sim, Command& command);
void add_sim_sweep(Verb& sim, Command& command);
void add_sim_knobs(Verb& sim, Command& command);
void add_lab(Verb& app, Command& command);
void add_device_list(Verb& device, Command& command);
void add_device_instances(Verb& device, Command& command);
void add_device_create(Verb& device, Command& command);
void add_device_destroy(Verb& device, Command& command);
void add_device_prepare(Verb& device, Command& command);
void add_device_doctor(Verb& device, Command& command);
void add_device_bench(Verb& device, Command& command);
void add_node(Verb& app, Command& command);
void add_emulate(Verb& app, Command& command);
void add_store(Verb& app, Command& command);
void add_submit(Verb& app, Command& command);
void add_run(Verb& app, Command& command);
void add_ps(Verb& app, Command& command);
void add_show(Verb& app, Command& command);
void add_logs(Verb& app, Command& command);
void add_wait(Verb& app, Command& command);
void add_cancel(Verb& app, Command& command);
void add_signal(Verb& app, Command& command);
void add_move(Verb& app, Command& command);
void add_defrag(Verb& app, Command& command);
void add_gpus(Verb& app, Command& command);
void add_status(Verb& app, Command& command);
void add_hold(Verb& app, Command& command);
void add_release(Verb& app, Command& command);
void add_requeue(Verb& app, Command& command);
void add_explain(Verb& app, Command& command);
void add_what_if(Verb& app, Command& command);
void add_events(Verb& app, Command& command);
void add_history(Verb& app, Command& command);
void add_usage(Verb& app, Command& command);
void add_lease(Verb& app, Command& command);
void add_token(Verb& app, Command& command);
void add_orphan(Verb& app, Command& command);
void add_tune(Verb& app, Command& command);
void add_cordon(Verb& app, Command& command);
void add_uncordon(Verb& app, Command& command);
void add_drain(Verb& app, Command& command);
void add_top(Verb& app, Command& command);
void add_completion(Verb& app, Command& command);
void add_man(Verb& app, Command& command);

}  // namespace tangram::cli
