// See tangram.hpp.
#include "cli/tangram.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>
#include <regex>
#include <span>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/text.hpp"
#include "cli/complete.hpp"
#include "cli/help.hpp"
#include "cli/verbs.hpp"
#include "cli/watch.hpp"

namespace tangram::cli {
namespace {

int fail(int code, std::string_view message) {
  fmt::print(stderr, "tangram: {}\n", message);
  return code;
}

int exit_code(const Error& error) {
  const bool bad_input = error.code == ErrorCode::kInvalid || error.code == ErrorCode::kNotFound;
  return bad_input ? kExitBadInput : kExitFailure;
}

int finish(Output& out) {
  const Result<void> written = out.flush();
  return written ? kExitOk : fail(exit_code(written.error()), written.error().message);
}

int print(std::string_view text) {
  Output out;
  out.add(text);
  return finish(out);
}

// The innermost verb that the command line named.
struct Named {
  const CLI::App* app;
  std::string parents;  // "tangram mig"

  [[nodiscard]] std::string path() const {
    return parents.empty() ? app->get_name() : cat(parents, ' ', app->get_name());
  }
  [[nodiscard]] std::string help() const { return app->help(parents); }
};

Named innermost(const CLI::App& root) {
  Named named{&root, ""};
  while (!named.app->get_subcommands().empty()) {
    named = {named.app->get_subcommands().front(), named.path()};
  }
  return named;
}

// All that can be typed below `app`: "show" for `tangram mig show`.
void collect_verbs(const CLI::App& app, const std::string& path, std::vector<std::string>& names,
                   std::vector<std::string>& paths) {
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(verb->get_name());
    const std::string verb_path = cat(path, ' ', verb->get_name());
    paths.push_back(verb_path);
    collect_verbs(*verb, verb_path, names, paths);
  }
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    if (option->nonpositional()) names.push_back(option->get_name());
  }
  return names;
}

std::string unknown_argument(const Named& named, const std::string& argument) {
  if (argument.starts_with('-')) {
    const std::vector<std::string> options = option_names(*named.app);
    if (std::ranges::find(options, argument) != options.end()) {
      return cat(argument, " belongs behind the verb: `", named.path(), " ", argument, "`;");
    }
    const auto near = nearest(argument, options);
    return cat("unknown option ", tangram::quoted(argument),
               near ? cat("; did you mean ", *near, "?") : std::string(";"));
  }
  std::vector<std::string> names;
  std::vector<std::string> paths;
  collect_verbs(*named.app, named.path(), names, paths);
  if (names.empty()) return cat("unexpected argument ", tangram::quoted(argument), ";");
  const auto near = nearest(argument, names);
  if (!near) return cat("unknown verb ", tangram::quoted(argument), ";");
  const auto which = static_cast<std::size_t>(std::ranges::find(names, *near) - names.begin());
  return cat("unknown verb ", tangram::quoted(argument), "; did you mean `", paths[which], "`?");
}

// What CLI11 says, in our words.
std::string plain_reason(const std::string& reason) {
  struct Form {
    const char* pattern;
    const char* words;
  };
  constexpr Form kForms[] = {
      {"(.+): [0-9]+ required .+ missing", "$1 needs a value"},
      {"(.+): At Most 1 required but received [0-9]+", "$1 is given more than once"},
      {"Could not convert: (.+) = (.*)", "$1: '$2' is not a number that it takes"},
      {"(.+): (.*) not in \\{(.*)\\}", "$1: '$2' is none of $3"},
      {"(.+): Value (.+) not in range (.+) to (.+)", "$1: $2 is not from $3 to $4"}};
  for (const Form& form : kForms) {
    const std::regex pattern(form.pattern);
    if (!std::regex_match(reason, pattern)) continue;
    const std::string words = std::regex_replace(reason, pattern, form.words);
    return std::regex_replace(words, std::regex(",(?! )"), ", ");
  }
  return reason;
}

int explain(const CLI::App& root, const CLI::ParseError& error) {
  const Named named = innermost(root);
  if (dynamic_cast<const CLI::CallForVersion*>(&error) != nullptr) {
    return print(cat("tangram ", TANGRAM_VERSION, "\n"));
  }
  if (error.get_exit_code() == 0) return print(named.help());
  const std::vector<std::string> extras = root.remaining(true);
  const bool is_extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  const std::string reason = is_extra && !extras.empty()
                                 ? unknown_argument(named, extras.front())
                                 : plain_reason(printable(error.what())) + ";";
  return fail(kExitBadInput, cat(reason, " see `", named.path(), " --help`"));
}

void add_device(Verb& app, Command& command) {
  Verb device = app.add_subcommand("device", "The GPUs of this machine, or of an emulated one");
  device->require_subcommand(0, 1);
  device->footer("Example:\n  tangram device list --emulate 4xA100-40GB");
  add_device_list(*device, command);
  add_device_instances(*device, command);
  add_device_create(*device, command);
  add_device_destroy(*device, command);
  add_device_prepare(*device, command);
  add_device_doctor(*device, command);
  add_device_bench(*device, command);
}

// The verbs of users, which speak to the daemon; they come first.
void add_jobs(Verb& app, Command& command) {
  add_submit(app, command);
  add_run(app, command);
  add_ps(app, command);
  add_show(app, command);
  add_logs(app, command);
  add_wait(app, command);
  add_cancel(app, command);
  add_signal(app, command);
  add_hold(app, command);
  add_release(app, command);
  add_move(app, command);
  add_explain(app, command);
  add_what_if(app, command);
  add_lease(app, command);
}

// The verbs of whoever looks after the node, and of the past.
void add_node_verbs(Verb& app, Command& command) {
  add_top(app, command);
  add_gpus(app, command);
  add_status(app, command);
  add_events(app, command);
  add_history(app, command);
  add_usage(app, command);
  add_tune(app, command);
  add_cordon(app, command);
  add_uncordon(app, command);
  add_drain(app, command);
  add_defrag(app, command);
  add_token(app, command);
}

void build(CLI::App& root, Command& command) {
  root.name("tangram");
  root.formatter(std::make_shared<HelpFormatter>());
  root.require_subcommand(0, 1);
  root.set_version_flag("--version", TANGRAM_VERSION, "Print the version and exit");
  root.set_help_flag("-h,--help", "Print this help and exit");
  Verb app(&root);
  add_jobs(app, command);
  add_node_verbs(app, command);
  Verb mig = app.add_subcommand("mig", "The geometry of MIG GPUs: profiles, placements, FragCost");
  mig->require_subcommand(0, 1);
  mig->footer("Example:\n  tangram mig frag A100-40GB 2g.10gb@4 1g.5gb@6");
  add_mig_models(*mig, command);
  add_mig_show(*mig, command);
  add_mig_frag(*mig, command);
  add_mig_layouts(*mig, command);
  add_mig_place(*mig, command);
  add_policies(app, command);
  add_decide(app, command);
  Verb sim =
      app.add_subcommand("sim", "The scheduler in virtual time: what a policy gives on a workload");
  sim->require_subcommand(0, 1);
  sim->footer("Example:\n  tangram sim compare --policies paper,first-fit --workload normal25");
  add_sim_run(*sim, command);
  add_sim_compare(*sim, command);
  add_sim_sweep(*sim, command);
  add_sim_knobs(*sim, command);
  add_lab(app, command);
  add_device(app, command);
  add_node(app, command);
  add_emulate(app, command);
  add_store(app, command);
  add_completion(app, command);
  add_man(app, command);
  // Last: verbs would inherit it.
  app.footer(
      "Each verb has a --help with examples, and a page: `tangram man VERB | man -l -`.\n"
      "Exit codes: 0 done; 1 failed; 2 what was typed is wrong. `run`, `lease`, `wait`\n"
      "and `submit --wait` give those of the command; 124: the time is over; 125: it\n"
      "could not be run.");
}

// CLI11 would take "[a,b]" apart, and "[]" for nothing at all.
bool is_bracketed(std::string_view argument) {
  return argument.starts_with('[') && argument.ends_with(']');
}

// What follows "--" is a user's command line and none of ours: only verbs that run one have it.
int cut_at_dashes(int argc, const char* const* argv, Command& command) {
  constexpr std::string_view kRunners[] = {"submit", "run", "lease"};
  if (argc < 2 || std::ranges::find(kRunners, std::string_view(argv[1])) == std::end(kRunners)) {
    return argc;
  }
  for (int i = 2; i < argc; ++i) {
    if (std::string_view(argv[i]) != "--") continue;
    command.trailing.assign(argv + i + 1, argv + argc);
    return i;
  }
  return argc;
}

// What completion scripts ask; no verb, because it must bear half a command line.
int complete(std::span<const char* const> words) {
  Command command;
  CLI::App app;
  build(app, command);
  return print(completion_lines(app, {words.begin(), words.end()}));
}

int run_unguarded(int argc, const char* const* argv) {
  if (argc > 2 && std::string_view(argv[1]) == "__complete") {
    return complete(std::span(argv + 2, argv + argc));
  }
  Command command;
  command.typed = "tangram";
  for (int i = 1; i < argc; ++i) command.typed += cat(" ", argv[i]);
  std::vector<const char*> asked(argv, argv + argc);
  if (argc > 1 && std::string_view(argv[1]) == "help") {  // `help ps` is `ps --help`
    asked.erase(asked.begin() + 1);
    asked.push_back("--help");
    argv = asked.data();
  }
  argc = cut_at_dashes(argc, argv, command);
  for (const char* argument : std::span(argv, static_cast<std::size_t>(argc))) {
    if (!is_bracketed(argument)) continue;
    return fail(kExitBadInput, cat("unexpected argument ", tangram::quoted(argument),
                                   "; a list is written as separate arguments."));
  }
  CLI::App app("Tangram schedules jobs onto the slices of MIG GPUs.");
  build(app, command);
  command.root = &app;
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return explain(app, error);
  }
  if (!command.run) {
    fmt::print(stderr, "{}", innermost(app).help());
    return kExitBadInput;
  }
  Output out = Output::for_stdout(command.output);
  const Result<void> done = command.watch ? watch(command) : command.run(out);
  if (!done)
    return fail(command.failure_code.value_or(exit_code(done.error())), done.error().message);
  const int flushed = finish(out);
  return flushed == kExitOk ? command.exit_code : flushed;
}

}  // namespace

void add_output_options(Verb& verb, Command& command) {
  verb.add_flag("--json", command.json, "Print JSON");
  add_drawing_options(verb, command);
}

void add_drawing_options(Verb& verb, Command& command) {
  verb.add_option("--color", command.output.color,
                  "Colours: auto (on a terminal, the default), always or never")
      ->one_of({"auto", "always", "never"})
      ->option_text("WHEN");
  verb.add_flag("--ascii", command.output.ascii, "Draw pictures without Unicode");
}

int run_tangram(int argc, const char* const* argv) {
  try {
    return run_unguarded(argc, argv);
  } catch (const std::bad_alloc&) {
    return fail(kExitFailure, "out of memory.");
  } catch (const std::exception& error) {
    return fail(kExitFailure, cat("internal error: ", printable(error.what())));
  }
}

}  // namespace tangram::cli
