// See output.hpp.
#include "cli/command/output.hpp"

#include <cerrno>
#include <clocale>
#include <cstdlib>
#include <langinfo.h>
#include <system_error>
#include <unistd.h>

#include "base/text.hpp"
#include "cli/command/environment.hpp"

namespace tangram::cli {
namespace {

bool wants_color(std::string_view choice) {
  if (choice != "auto") return choice == "always";
  return ::isatty(STDOUT_FILENO) == 1 && environment("NO_COLOR").empty() &&
         environment("TERM") != "dumb";
}

bool locale_is_utf8() {
  std::setlocale(LC_CTYPE, "");
  return std::string_view(::nl_langinfo(CODESET)) == "UTF-8";
}

std::string_view escape_of(Style style) {
  switch (style) {
    case Style::kPlain:
      return "";
    case Style::kBold:
      return "\x1b[1m";
    case Style::kDim:
      return "\x1b[2m";
    case Style::kGood:
      return "\x1b[1;32m";
    case Style::kBad:
      return "\x1b[31m";
    case Style::kCyan:
      return "\x1b[36m";
    case Style::kGreen:
      return "\x1b[32m";
    case Style::kYellow:
      return "\x1b[33m";
    case Style::kMagenta:
      return "\x1b[35m";
    case Style::kBlue:
      return "\x1b[34m";
  }
  return "";
}

}  // namespace

Output Output::for_stdout(const OutputOptions& options) {
  return {wants_color(options.color), !options.ascii && locale_is_utf8()};
}

std::string Output::paint(std::string_view text, Style style) const {
  if (!color_ || style == Style::kPlain || text.empty()) return std::string(text);
  return cat(escape_of(style), text, "\x1b[0m");
}

Result<void> Output::flush() {
  std::string_view rest = text_;
  while (!rest.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, rest.data(), rest.size());
    if (written >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EPIPE) {
      break;
    } else if (errno != EINTR) {
      return failed(
          cat("cannot write to standard output: ", std::generic_category().message(errno), "."));
    }
  }
  text_.clear();
  return {};
}

int width_of(std::string_view text) {
  int width = 0;
  for (const char c : text) width += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U ? 1 : 0;
  return width;
}

}  // namespace tangram::cli
