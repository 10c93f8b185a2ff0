// See tangram.hpp.
#include "cli/app/tangram.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <initializer_list>
#include <new>
#include <ranges>
#include <regex>
#include <span>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/text.hpp"
#include "cli/app/command_words.hpp"
#include "cli/app/complete.hpp"
#include "cli/app/help.hpp"
#include "cli/client/watch.hpp"
#include "cli/command/exit_codes.hpp"
#include "cli/command/verbs.hpp"

namespace tangram::cli {
namespace {

int fail(int code, std::string_view message) {
  fmt::print(stderr, "tangram: {}\n", message);
  return code;
}

int finish(Output& out) {
  const Result<void> written = out.flush();
  return written ? kExitOk : fail(exit_code_of(written.error()), written.error().message);
}

int print(std::string_view text) {
  Output out;
  out.add(text);
  return finish(out);
}

// The innermost verb on the command line.
struct VerbPath {
  const CLI::App* app;
  std::string parents;  // "tangram mig"

  [[nodiscard]] std::string path() const {
    return parents.empty() ? app->get_name() : cat(parents, ' ', app->get_name());
  }
  [[nodiscard]] std::string help() const { return app->help(parents); }
};

VerbPath innermost(const CLI::App& root) {
  VerbPath named{&root, ""};
  while (!named.app->get_subcommands().empty()) {
    named = {named.app->get_subcommands().front(), named.path()};
  }
  return named;
}

// Collects the verbs below `app`: the name ("show") and the whole path ("tangram mig show").
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

std::string unknown_argument(const VerbPath& named, const std::string& argument) {
  if (argument.starts_with('-')) {
    const std::vector<std::string> options = option_names(*named.app);
    if (std::ranges::find(options, argument) != options.end()) {
      return cat(argument, " goes after the verb: `", named.path(), " ", argument, "`;");
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

// Rewrites messages of CLI11 in the style of our own.
std::string plain_reason(const std::string& reason) {
  struct Form {
    const char* pattern;
    const char* words;
  };
  constexpr Form kForms[] = {
      {"(.+): [0-9]+ required .+ missing", "$1 needs a value"},
      {"(.+): At Most 1 required but received [0-9]+", "$1 is given more than once"},
      {"Could not convert: (.+) = (.*)", "$1: invalid number '$2'"},
      {"(.+): (.*) not in \\{(.*)\\}", "$1: invalid value '$2', expected one of $3"},
      {"(.+): Value (.+) not in range (.+) to (.+)", "$1: $2 is out of range ($3 to $4)"}};
  for (const Form& form : kForms) {
    const std::regex pattern(form.pattern);
    if (!std::regex_match(reason, pattern)) continue;
    const std::string words = std::regex_replace(reason, pattern, form.words);
    return std::regex_replace(words, std::regex(",(?! )"), ", ");
  }
  return reason;
}

int explain(const CLI::App& root, const CLI::ParseError& error) {
  const VerbPath named = innermost(root);
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
  Verb device = app.add_subcommand(
      "device", "List and change the GPUs of this machine or of an emulated one");
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

void add_mig(Verb& app, Command& command) {
  Verb mig = app.add_subcommand("mig", "Explore MIG geometry: models, placements, FragCost");
  mig->require_subcommand(0, 1);
  mig->footer("Example:\n  tangram mig frag A100-40GB 2g.10gb@4 1g.5gb@6");
  add_mig_models(*mig, command);
  add_mig_show(*mig, command);
  add_mig_frag(*mig, command);
  add_mig_layouts(*mig, command);
  add_mig_place(*mig, command);
}

void add_sim(Verb& app, Command& command) {
  Verb sim = app.add_subcommand("sim", "Simulate policies on a workload in virtual time");
  sim->require_subcommand(0, 1);
  sim->footer("Example:\n  tangram sim compare --policies paper,first-fit --workload normal25");
  add_sim_run(*sim, command);
  add_sim_compare(*sim, command);
  add_sim_sweep(*sim, command);
  add_sim_knobs(*sim, command);
}

using AddVerb = void (*)(Verb& app, Command& command);

// Adds verbs under one heading of `tangram --help`. Headings and verbs are listed in this order.
void add_group(Verb& app, Command& command, const char* heading,
               std::initializer_list<AddVerb> verbs) {
  const auto all = [&app] { return app.app().get_subcommands([](CLI::App*) { return true; }); };
  const std::size_t before = all().size();
  for (const AddVerb add : verbs) add(app, command);
  for (CLI::App* verb : all() | std::views::drop(before)) verb->group(heading);
}

void build(CLI::App& root, Command& command) {
  root.name("tangram");
  root.formatter(std::make_shared<HelpFormatter>());
  root.require_subcommand(0, 1);
  root.set_version_flag("--version", TANGRAM_VERSION, "Print the version and exit");
  root.set_help_flag("-h,--help", "Print this help and exit");
  Verb app(&root);
  add_group(app, command, "Jobs",
            {add_run, add_submit, add_ps, add_show, add_logs, add_wait, add_cancel, add_signal,
             add_hold, add_release, add_requeue, add_explain, add_what_if, add_move, add_lease});
  add_group(app, command, "Node",
            {add_status, add_gpus, add_top, add_events, add_history, add_usage, add_cordon,
             add_uncordon, add_drain, add_defrag, add_tune, add_token, add_orphan, add_store});
  add_group(app, command, "GPUs", {add_device, add_node, add_emulate});
  add_group(app, command, "Models and simulation",
            {add_mig, add_policies, add_decide, add_sim, add_lab});
  add_group(app, command, "Shell and manual", {add_completion, add_man});
  // Set last: verbs that are added later would inherit it.
  app.footer(
      "Run `tangram VERB --help` for options and examples, or\n"
      "`tangram man VERB | man -l -` for the manual page.\n"
      "Example:\n"
      "  tangram run -p 1g.5gb nvidia-smi -L\n"
      "Exit codes: 0 success, 1 failure, 2 invalid command line or input. `run`,\n"
      "`lease`, `wait` and `submit --wait` exit with the code of the command, 124 after\n"
      "a timeout and 125 if Tangram could not run it.");
}

// CLI11 would split "[a,b]" and drop "[]".
bool is_bracketed(std::string_view argument) {
  return argument.starts_with('[') && argument.ends_with(']');
}

// Moves the user's command to command.trailing, for verbs that run one. Returns the number of
// arguments that are left for Tangram.
int cut_at_command(const CLI::App& root, int argc, const char* const* argv, Command& command) {
  if (argc < 2) return argc;
  const CLI::App* verb = find_verb(root, argv[1]);
  if (verb == nullptr || !runs_command(*verb)) return argc;
  const std::span words(argv + 2, argv + argc);
  const CommandWords found = find_command(*verb, words);
  command.trailing.assign(words.begin() + static_cast<std::ptrdiff_t>(found.begin), words.end());
  return 2 + static_cast<int>(found.options_end);
}

// Answers completion scripts. Not a verb, because CLI11 would reject the partial command line.
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
  std::vector<const char*> rewritten(argv, argv + argc);
  if (argc > 1 && std::string_view(argv[1]) == "help") {  // `help ps` is `ps --help`
    rewritten.erase(rewritten.begin() + 1);
    rewritten.push_back("--help");
    argv = rewritten.data();
  }
  CLI::App app("Schedule jobs onto the slices of NVIDIA MIG GPUs.");
  build(app, command);
  argc = cut_at_command(app, argc, argv, command);
  for (const char* argument : std::span(argv, static_cast<std::size_t>(argc))) {
    if (!is_bracketed(argument)) continue;
    return fail(kExitBadInput, cat("unexpected argument ", tangram::quoted(argument),
                                   "; pass list items as separate arguments."));
  }
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
    return fail(command.failure_code.value_or(exit_code_of(done.error())), done.error().message);
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
                  "Use colours: auto (on a terminal, the default), always or never")
      ->one_of({"auto", "always", "never"})
      ->option_text("WHEN");
  verb.add_flag("--ascii", command.output.ascii, "Draw with ASCII instead of Unicode");
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
