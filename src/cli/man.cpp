// `tangram man`: the manual, page by page, or as files for packages.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include <CLI/CLI.hpp>

#include "base/text.hpp"
#include "cli/completion.hpp"
#include "cli/manual.hpp"
#include "cli/verbs.hpp"

namespace tangram::cli {
namespace {

struct Options {
  std::string verb;
  std::string into;
};

std::vector<const CLI::App*> verbs_of(const CLI::App& root) {
  return root.get_subcommands([](const CLI::App*) { return true; });
}

Result<void> write(const std::filesystem::path& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) return failed(cat("cannot write ", path.string(), "."));
  return {};
}

// The pages, and the completion scripts beside them: what a package installs.
Result<void> write_all(const CLI::App& root, const std::filesystem::path& folder) {
  std::error_code status;
  std::filesystem::create_directories(folder, status);
  if (status) return failed(cat("cannot make ", folder.string(), ": ", status.message(), "."));
  if (auto ok = write(folder / "tangram.1", program_page(root)); !ok) return ok;
  for (const CLI::App* verb : verbs_of(root)) {
    const auto path = folder / cat("tangram-", verb->get_name(), ".1");
    if (auto ok = write(path, verb_page(root, *verb)); !ok) return ok;
  }
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const auto path = folder / cat("tangram.", shell);
    if (auto ok = write(path, completion_script(shell)); !ok) return ok;
  }
  return {};
}

Result<void> man(const Options& options, const CLI::App& root, Output& out) {
  if (!options.into.empty()) return write_all(root, options.into);
  if (options.verb.empty()) {
    out.add(program_page(root));
    return {};
  }
  std::vector<std::string> names;
  for (const CLI::App* verb : verbs_of(root)) {
    names.push_back(verb->get_name());
    if (names.back() != options.verb) continue;
    out.add(verb_page(root, *verb));
    return {};
  }
  const auto near = nearest(options.verb, names);
  return invalid(cat("there is no verb ", tangram::quoted(options.verb),
                     near ? cat("; did you mean ", *near, "?") : "; see `tangram --help`."));
}

}  // namespace

void add_man(Verb& app, Command& command) {
  const auto options = std::make_shared<Options>();
  Verb verb = app.add_subcommand("man", "Print the manual page of a verb, or of all");
  verb->add_option("VERB", options->verb, "The verb (default: the program)");
  verb->add_option("--into", options->into,
                   "Write all pages and the completion scripts into a folder")
      ->option_text("FOLDER");
  verb->footer("Example:\n  tangram man lease | man -l -");
  verb->callback([&command, options] {
    command.run = [&command, options](Output& out) { return man(*options, *command.root, out); };
  });
}

}  // namespace tangram::cli
