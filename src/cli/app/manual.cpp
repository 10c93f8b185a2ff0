// See manual.hpp.
#include "cli/app/manual.hpp"

#include <algorithm>
#include <cstdint>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/text.hpp"

namespace tangram::cli {
namespace {

constexpr bool any_verb(const CLI::App* /*verb*/) { return true; }

std::size_t code_point_size(unsigned char first) {
  if (first >= 0xf0) return 4;
  if (first >= 0xe0) return 3;
  return first >= 0xc0 ? 2 : 1;
}

// The code point that begins at byte `at`, and its length in bytes.
std::pair<std::uint32_t, std::size_t> code_point_at(std::string_view text, std::size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  const std::size_t size = code_point_size(first);
  if (size == 1 || at + size > text.size()) return {first, 1};
  std::uint32_t code = first & (0xffU >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    code = code << 6U | (static_cast<unsigned char>(text[at + i]) & 0x3fU);
  }
  return {code, size};
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return text;
}

std::string head(const std::string& name, const std::string& summary) {
  return cat(".TH ", roff_text(upper(name)), R"( 1 "" "tangram )", roff_text(TANGRAM_VERSION),
             "\" \"Tangram\"\n.SH NAME\n", roff_text(name), " \\- ", roff_text(summary), "\n");
}

// One option with its names, placeholder and description.
std::string option_entry(const CLI::Option& option) {
  const bool positional = !option.nonpositional();
  std::string name = option.get_name(positional, !positional);
  std::string bold;
  for (std::size_t comma = 0; comma != std::string::npos;) {
    comma = name.find(',');
    bold += cat(bold.empty() ? "" : ", ", "\\fB", roff_text(name.substr(0, comma)), "\\fR");
    name.erase(0, comma == std::string::npos ? comma : comma + 1);
  }
  const std::string& value = option.get_option_text();
  return cat(".TP\n", bold, value.empty() ? "" : cat(" \\fI", roff_text(value), "\\fR"), "\n",
             roff_text(option.get_description()), "\n");
}

std::string options_of(const CLI::App& verb) {
  std::string arguments;
  std::string options;
  for (const CLI::Option* option : verb.get_options()) {
    (option->nonpositional() ? options : arguments) += option_entry(*option);
  }
  return arguments + options;
}

std::string synopsis(const std::string& path, const CLI::App& verb) {
  std::string line = cat(".B ", roff_text(path), "\n[\\fIOPTIONS\\fR]");
  for (const CLI::Option* option : verb.get_options()) {
    if (option->nonpositional()) continue;
    std::string name = option->get_name(true, false);
    if (option->get_items_expected_max() > 1) name += "...";
    if (!option->get_required()) name = cat('[', name, ']');
    line += cat(" \\fI", roff_text(name), "\\fR");
  }
  return line + "\n";
}

// The footer of the help: lines to type (indented) as a code block, the others as prose.
std::string footer_of(const CLI::App& verb) {
  enum class Part : std::uint8_t { kNone, kCode, kProse };
  const std::string footer = verb.get_footer();
  std::string_view rest = footer;
  std::string text;
  Part part = Part::kNone;
  const auto switch_to = [&](Part next) {
    if (part == next) return;
    if (part == Part::kCode) text += ".EE\n";
    if (next != Part::kNone) text += ".PP\n";
    if (next == Part::kCode) text += ".EX\n";
    part = next;
  };
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.empty() || line == "Example:" || line == "Examples:") continue;
    switch_to(line.starts_with("  ") ? Part::kCode : Part::kProse);
    text += cat(roff_text(line), "\n");
  }
  switch_to(Part::kNone);
  return text;
}

std::string notes_of(const CLI::App& verb) {
  const std::string text = footer_of(verb);
  return text.empty() ? "" : cat(".SH EXAMPLES AND NOTES\n", text);
}

constexpr std::string_view kExitStatus =
    ".SH EXIT STATUS\n"
    ".TP\n0\nSuccess; the output is on standard output.\n"
    ".TP\n1\nThe operation failed: the daemon, a file or the driver reported an error.\n"
    ".TP\n2\nInvalid command line or input; standard error says what is allowed.\n"
    ".TP\n124, 125\nTimeout; Tangram could not run the command.\n"
    ".PP\n\\fBrun\\fR, \\fBlease\\fR, \\fBwait\\fR and \\fBsubmit \\-\\-wait\\fR exit with the "
    "code "
    "of the command, or with 128 plus the signal that ended it.\n";

constexpr std::string_view kEnvironment =
    ".SH ENVIRONMENT\n"
    ".TP\nTANGRAM_SOCKET\nThe daemon's address: the path of its socket, or an https:// URL.\n"
    ".TP\nTANGRAM_TOKEN, TANGRAM_TOKEN_FILE\nThe bearer token, or the file that contains it.\n"
    ".TP\nTANGRAM_CA_FILE\nCA certificates (PEM) to verify the daemon's certificate with.\n"
    ".TP\nNO_COLOR\nIf set, disables colours.\n";

// Adds each subcommand as a section of its parent's page.
void add_subcommands(const CLI::App& verb, const std::string& path, std::string& page) {
  for (const CLI::App* part : verb.get_subcommands(any_verb)) {
    const std::string whole = cat(path, ' ', part->get_name());
    page += cat(".SH \"", roff_text(upper(whole)), "\"\n", synopsis(whole, *part), ".PP\n",
                roff_text(part->get_description()), ".\n", options_of(*part), footer_of(*part));
    add_subcommands(*part, whole, page);
  }
}

}  // namespace

std::string roff_text(std::string_view text) {
  std::string out;
  bool line_begins = true;
  for (std::size_t at = 0; at < text.size();) {
    const auto [code, size] = code_point_at(text, at);
    const char c = size == 1 ? text[at] : '\0';
    if (line_begins && (c == '.' || c == '\'')) out += "\\&";
    line_begins = c == '\n';
    if (size > 1) {
      out += fmt::format("\\[u{:04X}]", code);
    } else if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == '"') {
      out += "\\(dq";
    } else if (c == '`') {
      out += "\\(ga";
    } else if (c == '\'') {
      out += "\\(aq";
    } else {
      out += c;
    }
    at += size;
  }
  return out;
}

std::string program_page(const CLI::App& root) {
  std::string page = head("tangram", "schedule jobs onto the slices of MIG GPUs");
  page += ".SH SYNOPSIS\n.B tangram\n\\fIVERB\\fR [\\fIOPTIONS\\fR]\n.SH VERBS\n";
  std::string see;
  std::string group;
  for (const CLI::App* verb : root.get_subcommands(any_verb)) {
    if (verb->get_group() != group) {
      group = verb->get_group();
      page += cat(".SS ", roff_text(group), "\n");
    }
    page += cat(".TP\n\\fB", roff_text(verb->get_name()), "\\fR\n",
                roff_text(verb->get_description()), "\n");
    see += cat(see.empty() ? "" : " ,\n", ".BR tangram\\-", roff_text(verb->get_name()), " (1)");
  }
  return cat(page, ".SH OPTIONS\n", options_of(root), kExitStatus, kEnvironment, ".SH SEE ALSO\n",
             see, "\n");
}

std::string verb_page(const CLI::App& root, const CLI::App& verb) {
  const std::string path = cat(root.get_name(), ' ', verb.get_name());
  std::string page = head(cat(root.get_name(), '-', verb.get_name()), verb.get_description());
  page += cat(".SH SYNOPSIS\n", synopsis(path, verb), ".SH OPTIONS\n", options_of(verb),
              notes_of(verb));
  add_subcommands(verb, path, page);
  return cat(page, kExitStatus, kEnvironment, ".SH SEE ALSO\n.BR tangram (1)\n");
}

}  // namespace tangram::cli
