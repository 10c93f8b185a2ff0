// `tangram man`: prints manual pages, or writes them to a directory for packages.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include <CLI/CLI.hpp>

#include "base/text.hpp"
#include "cli/app/completion.hpp"
#include "cli/app/manual.hpp"
#include "cli/command/verbs.hpp"

namespace tangram::cli {
namespace {

struct ManOptions {
  std::string verb;
  std::string directory;
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

// Writes what a package installs: all pages and the completion scripts.
Result<void> write_all(const CLI::App& root, const std::filesystem::path& directory) {
  std::error_code status;
  std::filesystem::create_directories(directory, status);
  if (status) return failed(cat("cannot create ", directory.string(), ": ", status.message(), "."));
  if (auto ok = write(directory / "tangram.1", program_page(root)); !ok) return ok;
  for (const CLI::App* verb : verbs_of(root)) {
    const auto path = directory / cat("tangram-", verb->get_name(), ".1");
    if (auto ok = write(path, verb_page(root, *verb)); !ok) return ok;
  }
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const auto path = directory / cat("tangram.", shell);
    if (auto ok = write(path, completion_script(shell)); !ok) return ok;
  }
  return {};
}

Result<void> man(const ManOptions& options, const CLI::App& root, Output& out) {
  if (!options.directory.empty()) return write_all(root, options.directory);
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
  return invalid(cat("unknown verb ", tangram::quoted(options.verb),
                     near ? cat("; did you mean ", *near, "?") : "; see `tangram --help`."));
}

}  // namespace

void add_man(Verb& app, Command& command) {
  const auto options = std::make_shared<ManOptions>();
  Verb verb = app.add_subcommand("man", "Print the manual page of a verb or of the program");
  verb->add_option("VERB", options->verb, "The verb (default: the program)");
  verb->add_option("--into", options->directory,
                   "Write all pages and the completion scripts to this directory")
      ->option_text("DIR");
  verb->footer("Examples:\n  tangram man lease | man -l -\n  tangram man --into /tmp/tangram-man");
  verb->callback([&command, options] {
    command.run = [&command, options](Output& out) { return man(*options, *command.root, out); };
  });
}

}  // namespace tangram::cli
